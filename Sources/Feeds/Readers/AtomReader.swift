internal import FoundationEssentials
internal import Markup

/// Reads Atom 1.0 (RFC 4287) and 0.3, with or without their namespaces.
struct AtomReader {
    /// The largest number of pages of one entry in other languages.
    private static let maximumTranslations = 20

    private let context: FeedContext
    private let root: XMLElement
    private let isOld: Bool
    private let prefix: String
    private let entries: AtomEntryReader

    init(root: XMLElement, context: FeedContext) {
        self.context = context
        self.root = root
        // Some feeds declare the namespace for a prefix, use the prefix on the children, and omit it on the root.
        prefix = root.name.hasPrefix("atom:") || root.children.contains { $0.name.hasPrefix("atom:") } ? "atom:" : ""
        let namespace = root.namespace ?? ""
        isOld =
            root.attribute("version") == "0.3"
            || namespace != "http://www.w3.org/2005/Atom" && namespace.contains("purl.org/atom")
        entries = AtomEntryReader(context, prefix: prefix, isOld: isOld)
    }

    /// True if the root is Atom; a single entry is a valid document too (RFC 4287 §2).
    static func accepts(_ root: XMLElement) -> Bool {
        ["atom:feed", "atom:entry", "feed"].contains(root.name)
    }

    func feed() -> Feed {
        var feed = Feed(format: FeedFormat(.atom, version: isOld ? "0.3" : prefix.isEmpty ? nil : "1.0"))
        if root.name == "atom:entry" {
            feed.entries = root.isClosed ? [entries.entry(root, feedAuthor: nil)] : []
            feed.language = FeedText.trimmed(root.attribute("xml:lang"))
            return feed
        }
        let links = all(root, "link")
        feed.title = AtomText.text(first(root, "title"), isOld: isOld)?.plain(limit: FeedText.titleLimit)
        feed.link = Self.alternate(of: links, context: context)
        feed.language = FeedText.trimmed(root.attribute("xml:lang"))
        Self.takePush(links, into: &feed, context: context)
        let author = entries.author(of: root)?.name
        let elements = all(root, "entry").filter(\.isClosed)
        feed.isTruncated = elements.count > FeedReader.maximumEntries
        feed.entries = NewestEntries.read(elements) { entries.entry($0, feedAuthor: author) }
        feed.deletedIDs = Self.deletedIDs(root)
        return feed
    }

    private func first(_ element: XMLElement, _ name: String) -> XMLElement? { element.first(prefix + name) }

    private func all(_ element: XMLElement, _ name: String) -> [XMLElement] { element.all(prefix + name) }

    /// Returns the identifiers of deleted entries, at most ``FeedReader/maximumEntries``.
    ///
    /// Source: RFC 6721 §3.
    private static func deletedIDs(_ root: XMLElement) -> [String] {
        let notices = root.all("at:deleted-entry").prefix(FeedReader.maximumEntries)
        return notices.compactMap { FeedText.trimmed($0.attribute("ref")) }
    }

    // MARK: Links

    /// Reads the feed's own address and its hubs.
    static func takePush(_ links: [XMLElement], into feed: inout Feed, context: FeedContext) {
        for link in links {
            guard let address = context.link(link.attribute("href"), at: link) else { continue }
            let relations = relations(of: link)
            if relations.contains("self"), feed.selfURL == nil { feed.selfURL = address }
            if relations.contains("hub") { feed.hubs.append(address) }
        }
    }

    /// The relations of a link; `alternate` if it has none (RFC 4287 §4.2.7.2).
    ///
    /// A relation can be written as an IANA address.
    static func relations(of link: XMLElement) -> [String] {
        guard let rel = FeedText.trimmed(link.attribute("rel")) else { return ["alternate"] }
        guard rel.utf8.contains(where: { !(0x61...0x7A ~= $0) }) else { return [rel] }
        return Array(
            rel.lowercased().split(separator: " ").map { word in
                word.lastIndex(of: "/").map { String(word[word.index(after: $0)...]) } ?? String(word)
            }
        )
    }

    /// The page: HTML or untyped first, then XHTML, then other types; within a type, the entry's own language first.
    static func alternate(of links: [XMLElement], context: FeedContext) -> String? {
        var best: (rank: Int, link: String)?
        for link in links where relations(of: link).contains("alternate") {
            guard let address = context.link(link.attribute("href"), at: link) else { continue }
            let rank =
                switch link.attribute("type")?.lowercased() {
                case nil, "", "text/html": 0
                case "application/xhtml+xml": 2
                default: 4
                }
            let total = rank + (isForeign(link, context: context) ? 1 : 0)
            if total < best?.rank ?? .max { best = (total, address) }
        }
        return best?.link
    }

    /// The pages in other languages (RFC 4287 §4.2.7.4), at most ``maximumTranslations``.
    static func translations(among links: [XMLElement], context: FeedContext) -> [String] {
        links.lazy.filter { relations(of: $0).contains("alternate") && isForeign($0, context: context) }
            .compactMap { context.link($0.attribute("href"), at: $0) }.prefix(maximumTranslations).map(\.self)
    }

    /// True if a link leads to a page in a language other than that of the text around it.
    private static func isForeign(_ link: XMLElement, context: FeedContext) -> Bool {
        guard let page = FeedText.trimmed(link.attribute("hreflang"))?.lowercased(),
            let text = context.language(of: link)?.lowercased()
        else { return false }
        return page.prefix { $0 != "-" } != text.prefix { $0 != "-" }
    }

    static func link(of links: [XMLElement], relation: String, context: FeedContext) -> String? {
        links.lazy.filter { relations(of: $0).contains(relation) }
            .compactMap { context.link($0.attribute("href"), at: $0) }.first
    }
}
