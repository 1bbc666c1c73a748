internal import Formats
internal import HubProtocol

/// The texts of readers' pages in one language, from a file of the catalogue: `words.TAG.json`.
///
/// Templates and scripts name a text as `[[name]]`. It is inserted once, when the program starts.
package struct PageWords: Sendable {
    private static let prefix = "words."
    private static let suffix = ".json"
    /// The longest header that is read, in characters; browsers send less than 100.
    private static let maximumHeader = 500

    /// All texts by name, as they are in the catalogue.
    let texts: [String: String]

    /// English, to which a browser without a language of the catalogue is directed.
    package static let english = PageWords(language: "en")

    /// All languages of the catalogue, and the pseudo-language.
    package static let all: [PageWords] = {
        let names = WebFiles.names.filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }
        return names.map { PageWords(language: String($0.dropFirst(prefix.count).dropLast(suffix.count))) } + [.pseudo]
    }()

    /// A language that nobody speaks, for tests and for translators: English in brackets, longer and from right to left, as
    /// the pseudo-locale `ar-XB` of Unicode CLDR.
    ///
    /// A text without brackets on a page is missing from the catalogue.
    package static let pseudo: PageWords = {
        var texts = english.texts.mapValues { text in
            let isPattern = text.hasPrefix("{") && text.hasSuffix("}")
            return isPattern ? text : "⟦\(text) \(String(repeating: "~", count: text.count / 3))⟧"
        }
        texts["language"] = "ar-XB"
        texts["direction"] = "rtl"
        return PageWords(texts: texts)
    }()

    private init(texts: [String: String]) { self.texts = texts }

    /// Reads a file of the catalogue; English replaces what it lacks.
    private init(language: String) {
        let file = WebFiles.bytes("\(Self.prefix)\(language)\(Self.suffix)")
        let texts = (try? JSONReader.decode([String: String].self, from: file)) ?? [:]
        self.texts = language == "en" ? texts : Self.english.texts.merging(texts) { $1 }
    }

    /// The language tag (RFC 5646).
    package var language: String { texts["language"] ?? "en" }

    package subscript(_ word: PageWord) -> String { self[word.rawValue] }

    /// A text with values in it, by the names that it has in braces.
    package func text(_ word: PageWord, _ values: [String: String]) -> String {
        Self.inserting(values, into: self[word])
    }

    /// The heading and the text of a notice.
    package func notice(_ notice: PageNotice, _ values: [String: String] = [:]) -> (heading: String, text: String) {
        (self[notice.rawValue], Self.inserting(values, into: self["\(notice.rawValue)Text"]))
    }

    private subscript(_ name: String) -> String { texts[name] ?? name }

    private static func inserting(_ values: [String: String], into text: String) -> String {
        text.replacing(/\{(\w+)\}/) { values[String($0.1)] ?? String($0.0) }
    }

    /// The file of a script with the texts that it names, and without the lines that are comments.
    func script(_ name: String) -> [UInt8] {
        let lines = inserted(into: WebFiles.text(name), isMarkup: false).split(separator: "\n")
        return lines.filter { !$0.trimming(\.isWhitespace).hasPrefix("//") }.flatMap { Array($0.utf8) + [0x0A] }
    }

    /// Inserts the texts that a template or a script names: `[[name]]`.
    ///
    /// A template can give values to the names in braces: `[[name user=frame.user]]` inserts `{{frame.user}}`. The texts
    /// have no quotation marks (`"`) and no backslashes, and need no escaping in scripts.
    func inserted(into source: String, isMarkup: Bool) -> String {
        source.replacing(/\[\[(\w+)((?: \w+=[\w.]+)*)\]\]/) { match in
            let text = self[String(match.1)]
            let values = match.2.split(separator: " ").map { $0.split(separator: "=") }
            let tags = Dictionary(uniqueKeysWithValues: values.map { (String($0[0]), "{{\($0[1])}}") })
            return Self.inserting(tags, into: isMarkup ? XMLText.escaped(text) : text)
        }
    }
}

extension PageWords: Equatable {
    package static func == (one: PageWords, other: PageWords) -> Bool { one.language == other.language }
}

extension PageWords {
    /// The language of the catalogue that a browser prefers; English if it names none of them.
    ///
    /// `header` is the value of `Accept-Language` (RFC 9110 §12.5.4). A range such as `de-AT` is shortened to `de`
    /// (RFC 4647 §3.4).
    package static func preferred(by header: String?) -> PageWords {
        guard let header else { return .english }
        var best: (words: PageWords, weight: Double)?
        for range in header.prefix(maximumHeader).split(separator: ",") {
            let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            guard let tag = parts.first, let words = matching(tag) else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
            let weight = quality.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            guard weight > 0, weight > best?.weight ?? 0 else { continue }
            best = (words, weight)
        }
        return best?.words ?? .english
    }

    private static func matching(_ tag: String) -> PageWords? {
        let short = tag.prefix { $0 != "-" }
        return all.first { $0.language.lowercased() == tag } ?? all.first { $0.language == short }
    }
}
