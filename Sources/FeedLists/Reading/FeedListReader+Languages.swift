internal import HubProtocol
internal import Yams

/// The keys of a list about languages.
extension FeedListReader {
    mutating func readLanguage(_ node: Node?) -> LanguageName? {
        guard let node, let text = readText(node, named: "language") else { return nil }
        do throws(ProtocolError) {
            return try LanguageName(text)
        } catch {
            problem(node, error.detail)
            return nil
        }
    }

    /// Reads the list's own keys, and removes the main language from the feeds that name it.
    mutating func readLocalization(_ members: [String: Node], _ feeds: inout [FeedSource]) -> Localization {
        var localization = Localization(main: readLanguage(members["language"]))
        if let node = members["match"] {
            let choices = TranslationMatch.allCases.map(\.rawValue)
            let match = readChoice(node, named: "match", of: choices).flatMap(TranslationMatch.init)
            localization.match = match ?? localization.match
        }
        var spellings: [LanguageName: String] = [:]
        if let main = localization.main { spellings[main] = main.text }
        for index in feeds.indices {
            guard let language = feeds[index].language else { continue }
            let line = feeds[index].line
            let known = spellings[language] ?? language.text
            spellings[language] = known
            if known != language.text {
                problem(line: line, "language '\(language)' is spelled '\(known)' above; use one spelling")
            }
            if members["language"] == nil {
                problem(line: line, "a feed has a language, so the list needs its main language in 'language:'")
            }
            if language == localization.main {
                feeds[index].language = nil
            } else if !localization.others.contains(language) {
                localization.others.append(language)
            }
        }
        if localization.others.count >= Localization.maximumLanguages {
            problem(members["feeds"], "the feeds have more than \(Localization.maximumLanguages) languages")
        }
        localization.templates = readTemplates(members["templates"], localization)
        return localization
    }

    private mutating func readTemplates(
        _ node: Node?,
        _ localization: Localization
    ) -> [LanguageName: InlineTemplate] {
        guard let node else { return [:] }
        guard let mapping = node.mapping else {
            problem(node, "'templates' must have a text for each language, such as 'French: \"Flash : $(title)\"'")
            return [:]
        }
        var templates: [LanguageName: InlineTemplate] = [:]
        for (key, value) in mapping {
            guard let language = readLanguage(key), let text = readText(value, named: "templates") else { continue }
            if language == localization.main {
                problem(key, "'\(language)' is the list's main language: put its text into 'template:'")
            } else if !localization.others.contains(where: { $0.text == language.text }) {
                let known = localization.others.map(\.text).joined(separator: ", ")
                let hint = known.isEmpty ? "no feed has a language" : "the feeds' languages are \(known)"
                problem(key, "no feed has 'language: \(language)'; \(hint)")
            }
            templates[language] = parse(text, at: value)
        }
        return templates
    }
}
