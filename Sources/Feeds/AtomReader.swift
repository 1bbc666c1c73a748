internal import FoundationEssentials
internal import Markup

/// Reads Atom 1.0 (RFC 4287) and 0.3, in their namespaces or in none.
struct AtomReader {
    private let context: FeedContext
    private let root: XMLElement
    private let isOld: Bool
    private let prefix: String

    init(root: XMLElement, context: FeedContext) {
        self.context = context
        self.root = root
        // Some declare the namespace for a prefix, use it on the children, and forget it on the root.
        prefix = root.name.hasPrefix("atom:") || root.children.contains { $0.name.hasPrefix("atom:") } ? "atom:" : ""
        isOld = root.attribute("version") == "0.3" || root.namespace?.contains("purl.org/atom") ?? false
    }

    /// A bare entry is a document too (RFC 4287 §2).
    static func accepts(_ root: XMLElement) -> Bool {
        ["atom:feed", "atom:entry", "feed"].contains(root.name)
    }

    func feed() -> Feed {
        var feed = Feed(format: FeedFormat(.atom, version: isOld ? "0.3" : prefix.isEmpty ? nil : "1.0"))
        if root.name == "atom:entry" {
            feed.entries = root.isClosed ? [entry(root, feedAuthor: nil)] : []
            feed.language = FeedText.trimmed(root.attribute("xml:lang"))
            return feed
        }
        let links = all(root, "link")
        feed.title = text(first(root, "title")).title
        feed.link = Self.alternate(of: links, context: context)
        feed.language = FeedText.trimmed(root.attribute("xml:lang"))
        for link in links {
            guard let address = context.link(link.attribute("href"), at: link) else { continue }
            let relations = Self.relations(of: link)
            if relations.contains("self"), feed.selfURL == nil { feed.selfURL = address }
            if relations.contains("hub") { feed.hubs.append(address) }
        }
        let author = author(of: root)
        feed.entries = all(root, "entry").filter(\.isClosed).prefix(FeedReader.maximumEntries).map {
            entry($0, feedAuthor: author)
        }
        return feed
    }

    private func entry(_ element: XMLElement, feedAuthor: String?) -> Entry {
        let links = all(element, "link")
        let media = MediaRSS(element, context: context)
        let content = text(first(element, "content"))
        let summary = text(first(element, "summary"))
        var entry = Entry()
        entry.id = FeedText.trimmed(first(element, "id")?.text)
        entry.title = text(first(element, "title")).title
        entry.link =
            Self.alternate(of: links, context: context)
            ?? first(element, "content").flatMap { context.link($0.attribute("src"), at: $0) }
            ?? Self.link(of: links, relation: "self", context: context)
            ?? Self.link(of: links, relation: "related", context: context)
            ?? FeedContext.link(entry.id, base: nil)
        entry.summary = summary.summary
        if entry.summary == nil || entry.summary == entry.title {
            let media = element.first("media:description") ?? element.first("media:group")?.first("media:description")
            entry.summary = content.summary ?? FeedText.summary(context.html(media), .html) ?? entry.summary
        }
        entry.published = date(element, "published", "issued", "created")
        entry.updated = date(element, "updated", "modified")
        entry.categories = categories(of: element)
        entry.enclosures = FeedContext.distinct(
            links.filter { Self.relations(of: $0).contains("enclosure") }.compactMap(enclosure)
        )
        entry.author = author(of: element) ?? first(element, "source").flatMap(author) ?? feedAuthor
        entry.image =
            media.image ?? entry.enclosures.first(where: EntryImage.isImage)?.url
            ?? ["content", "summary"].lazy.compactMap { name in
                first(element, name).flatMap {
                    let text = text($0)
                    return text.kind == .html ? EntryImage.first(in: text.source, base: context.base(of: $0)) : nil
                }
            }.first
        return entry
    }

    // MARK: Parts

    private func first(_ element: XMLElement, _ name: String) -> XMLElement? { element.first(prefix + name) }

    private func all(_ element: XMLElement, _ name: String) -> [XMLElement] { element.all(prefix + name) }

    private func text(_ element: XMLElement?) -> AtomText { AtomText(element, isOld: isOld) }

    private func date(_ element: XMLElement, _ names: String...) -> Date? {
        names.lazy.compactMap { name in first(element, name).flatMap { FeedDate.parse($0.text) } }.first
            ?? (names.contains("published") ? element.first("dc:date").flatMap { FeedDate.parse($0.text) } : nil)
    }

    private func categories(of element: XMLElement) -> [String] {
        FeedText.distinct(
            all(element, "category").map {
                FeedText.name($0.attribute("term")) ?? FeedText.name($0.attribute("label")) ?? FeedText.name($0.text)
            } + element.all("dc:subject", "media:category").map { FeedText.name($0.text) }
        )
    }

    private func author(of element: XMLElement) -> String? {
        for author in all(element, "author") {
            if let name = first(author, "name").flatMap({ FeedText.person(text($0).source) }) { return name }
        }
        return element.all("dc:creator").lazy.compactMap { FeedText.person($0.text) }.first
    }

    private func enclosure(_ link: XMLElement) -> Enclosure? {
        context.link(link.attribute("href"), at: link).map {
            Enclosure(
                url: $0,
                type: FeedText.trimmed(link.attribute("type")),
                length: FeedContext.length(link.attribute("length"))
            )
        }
    }

    // MARK: Links

    /// The relations of a link; none given means `alternate` (RFC 4287 §4.2.7.2).
    ///
    /// `rel` may be an IANA address.
    static func relations(of link: XMLElement) -> Set<String> {
        guard let rel = FeedText.trimmed(link.attribute("rel")) else { return ["alternate"] }
        return Set(
            rel.lowercased().split(separator: " ").map { word in
                word.lastIndex(of: "/").map { String(word[word.index(after: $0)...]) } ?? String(word)
            }
        )
    }

    /// The page: HTML or untyped before XHTML before anything else, the first of equals.
    static func alternate(of links: [XMLElement], context: FeedContext) -> String? {
        var best: (rank: Int, link: String)?
        for link in links where relations(of: link).contains("alternate") {
            guard let address = context.link(link.attribute("href"), at: link) else { continue }
            let rank =
                switch link.attribute("type")?.lowercased() {
                case nil, "", "text/html": 0
                case "application/xhtml+xml": 1
                default: 2
                }
            if rank < best?.rank ?? .max { best = (rank, address) }
        }
        return best?.link
    }

    private static func link(of links: [XMLElement], relation: String, context: FeedContext) -> String? {
        links.lazy.filter { relations(of: $0).contains(relation) }
            .compactMap { context.link($0.attribute("href"), at: $0) }.first
    }
}
