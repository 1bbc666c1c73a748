internal import Feeds
internal import HostSystem
internal import HubProtocol
internal import YAMLFiles
internal import Yams

/// Reads one feed list and collects all of its problems.
///
/// It uses YAML nodes instead of a `Codable` type: a node knows its line, and an unknown key must be an error.
struct FeedListReader {
    /// The largest number of feeds in one list.
    static let maximumFeeds = 1_000

    let file: String
    /// True if a property that no message has, or an address that the publisher refuses, is a problem, too.
    var isStrict = false
    private(set) var problems: [FeedListProblem] = []

    /// Reads a list; `nil` when ``problems`` is not empty afterwards.
    mutating func read(_ text: String) -> FeedList? {
        let before = problems.count
        let root: Node?
        do {
            root = try YAMLText.root(of: text)
        } catch {
            problem(line: error.line, error.text)
            return nil
        }
        guard let root, let mapping = root.mapping else {
            problem(root, "must hold 'category:' and 'feeds:'")
            return nil
        }
        let members = readMembers(of: mapping, known: FeedListKey.list.map(\.name))
        let category = readCategory(members["category"], of: root)
        let template = readTemplate(members["template"])
        let interval = readInterval(members["every"], minimum: .minimum)
        let rules = readRules(members, FeedRules())
        checkOPML(members["opml"])
        var feeds = readFeeds(members["feeds"], of: root, interval: interval, rules)
        let localization = readLocalization(members, &feeds)
        checkTemplates(members, localization)
        guard problems.count == before, let category, let template else { return nil }
        return FeedList(
            file: file,
            category: category,
            template: template,
            localization: localization,
            feeds: feeds
        )
    }

    private mutating func readCategory(_ node: Node?, of root: Node) -> HubProtocol.Tag? {
        guard let node else {
            problem(root, "has no 'category:', the tag for its messages")
            return nil
        }
        guard let text = readText(node, named: "category") else { return nil }
        do throws(ProtocolError) {
            let tag = try HubProtocol.Tag(text)
            guard !tag.isServerAssigned, !ReservedTagPrefixes.standard.contains(tag) else {
                problem(node, "category '\(text)' is a reserved tag")
                return nil
            }
            return tag
        } catch {
            problem(node, "'\(text)' is not a valid category: \(error.detail)")
            return nil
        }
    }

    private mutating func readTemplate(_ node: Node?) -> InlineTemplate? {
        guard let node else { return try? InlineTemplate(parsing: FeedList.standardTemplate) }
        return readText(node, named: "template").flatMap { parse($0, at: node) }
    }

    mutating func parse(_ template: String, at node: Node) -> InlineTemplate? {
        do throws(TemplateError) {
            return try InlineTemplate(parsing: template)
        } catch {
            problem(node, "template: \(error)")
            return nil
        }
    }

    private mutating func readFeeds(
        _ node: Node?,
        of root: Node,
        interval: PollInterval?,
        _ rules: FeedRules
    ) -> [FeedSource] {
        guard let node else {
            problem(root, "has no 'feeds:'")
            return []
        }
        // All feeds may be commented out, because other publishers announce this category, or to prepare it for later.
        if node.null != nil { return [] }
        guard let sequence = node.sequence else {
            problem(node, "'feeds' must be a list of '- url: …'")
            return []
        }
        guard sequence.count <= Self.maximumFeeds else {
            problem(node, "'feeds' lists more than \(Self.maximumFeeds) feeds")
            return []
        }
        return sequence.compactMap { readFeed($0, interval: interval, rules) }
    }

    private mutating func readFeed(
        _ node: Node,
        interval listInterval: PollInterval?,
        _ listRules: FeedRules
    ) -> FeedSource? {
        guard let mapping = node.mapping else {
            problem(node, "a feed must be written as '- url: https://…'")
            return nil
        }
        let members = readMembers(of: mapping, known: FeedListKey.feed.map(\.name))
        let isLocal = members["local"].map { readFlag($0, named: "local") } ?? false
        let interval = readInterval(members["every"], minimum: isLocal ? .localMinimum : .minimum)
        let title = members["title"].flatMap { readText($0, named: "title") }
        let rules = readRules(members, listRules)
        checkOPML(members["opml"])
        guard let urlNode = members["url"] else {
            problem(node, "a feed has no 'url:'")
            return nil
        }
        guard let url = readText(urlNode, named: "url") else { return nil }
        do {
            let address = try FeedAddress(parsing: url, allowsFile: isLocal)
            var source = FeedSource(
                address: address,
                interval: interval ?? listInterval,
                isLocal: isLocal,
                title: title,
                line: urlNode.mark?.line
            )
            source.isByAgreement = members["by-agreement"].map { readFlag($0, named: "by-agreement") } ?? false
            source.rules = rules
            source.access = readAccess(members)
            if address.isFile, source.access != FeedAccess() {
                problem(urlNode, "a file is not requested: remove 'headers', 'user-agent', 'cookies' and the like")
            }
            source.language = readLanguage(members["language"])
            checkAddress(source, at: urlNode)
            return source
        } catch {
            // A malformed address may contain a password anywhere, so the message names its line instead.
            problem(urlNode, (FeedAddress.apparentHost(of: url).map { "feed of '\($0)'" } ?? "'url'") + " \(error)")
            return nil
        }
    }

    private mutating func readInterval(_ node: Node?, minimum: PollInterval) -> PollInterval? {
        guard let node, let text = readText(node, named: "every") else { return nil }
        guard let interval = PollInterval(parsing: text) else {
            problem(node, "'every: \(text)' is not a time such as 30s, 5m, 2h or 1d")
            return nil
        }
        guard interval >= minimum, interval <= .maximum else {
            problem(node, "'every: \(text)' must be between \(minimum) and \(PollInterval.maximum)")
            return nil
        }
        return interval
    }

    /// Reads rules; a feed's filters add to the list's, and its other rules replace them.
    private mutating func readRules(_ members: [String: Node], _ outer: FeedRules) -> FeedRules {
        var rules = outer
        let filter = KeywordFilter(
            include: readTerms(members["include"], named: "include"),
            exclude: readTerms(members["exclude"], named: "exclude")
        )
        if !filter.isEmpty { rules.filters.append(filter) }
        if let node = members["updates"] {
            rules.announcesUpdates = readChoice(node, named: "updates", of: ["announce", "ignore"]) == "announce"
        }
        if let node = members["future"] {
            rules.holdsFuture = readChoice(node, named: "future", of: ["announce", "hold"]) == "hold"
        }
        readEditorial(members, &rules)
        return rules
    }

    /// Checks keys that the publisher does not use, so that they can be exported again.
    private mutating func checkOPML(_ node: Node?) {
        guard let node else { return }
        guard let mapping = node.mapping else { return problem(node, "'opml' must be names with texts") }
        for (key, value) in mapping {
            let name = key.scalar?.string ?? ""
            if OPMLName(parsing: name) == nil { problem(key, "'opml': '\(name)' is not a valid attribute name") }
            if value.scalar == nil { problem(value, "'opml': '\(name)' must be a text") }
        }
    }

    private mutating func readEditorial(_ members: [String: Node], _ rules: inout FeedRules) {
        if let node = members["corrections"] { rules.marks.corrections = readTerms(node, named: "corrections") }
        if let node = members["retractions"] { rules.marks.retractions = readTerms(node, named: "retractions") }
        guard let node = members["notBefore"], let text = readText(node, named: "notBefore") else { return }
        rules.notBefore = HourOfDay(parsing: text)
        if rules.notBefore == nil { problem(node, "'notBefore: \(text)' is not an hour of the day such as 07:00") }
    }

    private mutating func readTerms(_ node: Node?, named name: String) -> [Keyword] {
        guard let node else { return [] }
        let terms = node.sequence.map(Array.init) ?? [node]
        guard terms.count <= KeywordFilter.maximumTerms else {
            problem(node, "'\(name)' lists more than \(KeywordFilter.maximumTerms) terms")
            return []
        }
        return terms.compactMap { term in
            guard let text = readText(term, named: name) else { return nil }
            do throws(KeywordError) {
                return try Keyword(parsing: text)
            } catch {
                problem(term, "'\(name)': the term '\(text)' \(error)")
                return nil
            }
        }
    }

    mutating func readChoice(_ node: Node, named name: String, of choices: [String]) -> String? {
        guard let text = readText(node, named: name) else { return nil }
        guard choices.contains(text) else {
            problem(node, "'\(name): \(text)' must be \(choices.joined(separator: " or "))")
            return nil
        }
        return text
    }

    mutating func readFlag(_ node: Node, named name: String) -> Bool {
        switch node.scalar?.string {
        case "true": return true
        case "false": return false
        default:
            problem(node, "'\(name)' must be true or false")
            return false
        }
    }

    mutating func readText(_ node: Node, named name: String) -> String? {
        guard let scalar = node.scalar, !scalar.string.isEmpty else {
            problem(node, "'\(name)' must be a text")
            return nil
        }
        return scalar.string
    }

    private mutating func readMembers(of mapping: Node.Mapping, known: [String]) -> [String: Node] {
        var members: [String: Node] = [:]
        for (key, value) in mapping {
            let name = key.scalar?.string ?? ""
            guard known.contains(name) else {
                let nearest = NearestName.of(name, among: known).map { "did you mean '\($0)'? " } ?? ""
                problem(key, "unknown key '\(name)': \(nearest)known are \(known.joined(separator: ", "))")
                continue
            }
            members[name] = value
        }
        return members
    }

    mutating func problem(_ node: Node?, _ text: String) { problem(line: node?.mark?.line, text) }

    mutating func problem(line: Int?, _ text: String) {
        problems.append(FeedListProblem(file: file, line: line, text: text))
    }
}
