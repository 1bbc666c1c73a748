internal import FoundationEssentials
internal import Markup

/// Reads RSS 0.90 to 2.0 by the rules of 2.0; RDF differs only in where elements are.
struct RSSReader {
    private static let versions: Set<String> = ["0.90", "0.91", "0.92", "0.93", "0.94", "1.0", "2.0"]
    private static let levels = XMLNameTable(FeedNames.vocabulary, names: ["item", "channel", "items", "rss"])
    /// The depth to which items are searched for.
    private static let maximumDepth = 8

    private let context: FeedContext
    private let root: XMLElement
    private let channel: XMLElement
    private let entries: RSSEntryReader

    init(root: XMLElement, context: FeedContext) {
        self.root = root
        channel = root.name == "channel" ? root : root.first("channel") ?? root
        var context = context
        context.takePage(channel.first("link")?.text)
        self.context = context
        entries = RSSEntryReader(context: context)
    }

    static func accepts(_ root: XMLElement) -> Bool {
        switch root.name {
        case "rss", "channel": true
        case "rdf:rdf", "rdf": !root.hasChildElements || root.first("channel") != nil || root.first("item") != nil
        default: root.localName.lowercased() == "rss"
        }
    }

    func feed() -> Feed {
        var feed = Feed(format: format)
        feed.title = context.title(channel.first("title") ?? channel.first("dc:title"))
        let links = channel.all("atom:link")
        feed.link = Self.link(of: channel.all("link"), links, channel.first("feedburner:origlink"), context: context)
        feed.language = FeedText.trimmed(
            (channel.first("language") ?? channel.first("dc:language"))?.text
                ?? channel.attribute("xml:lang") ?? root.attribute("xml:lang")
        )
        AtomReader.takePush(links, into: &feed, context: context)
        feed.ttl = FeedText.trimmed(channel.first("ttl")?.text).flatMap { Int($0) }
        feed.hints = PollingHints(channel: channel)
        var items: [XMLElement] = []
        Self.findItems(below: root, depth: 0, &items)
        feed.isTruncated = items.count > FeedReader.maximumEntries
        feed.entries = NewestEntries.read(items, entries.entry)
        return feed
    }

    private var format: FeedFormat {
        if root.name.hasPrefix("rdf") {
            let isNetscape = channel.namespace?.contains("simple/0.9") ?? false
            return FeedFormat(.rss, version: isNetscape ? "0.90" : "1.0")
        }
        guard let version = FeedText.trimmed(root.attribute("version")) else { return FeedFormat(.rss, version: nil) }
        if version.hasPrefix("2.") || version == "2" { return FeedFormat(.rss, version: "2.0") }
        return FeedFormat(.rss, version: Self.versions.contains(version) ? version : nil)
    }

    /// Finds items beside and inside the channel, and inside other items with a missing end tag, in document order.
    private static func findItems(below element: XMLElement, depth: Int, _ items: inout [XMLElement]) {
        guard depth < maximumDepth else { return }
        for child in element.children {
            guard let level = levels.position(of: child) else { continue }
            if level == 0, child.isClosed { items.append(child) }
            findItems(below: child, depth: depth + 1, &items)
        }
    }

    /// The page of a channel or item.
    static func link(
        of links: [XMLElement],
        _ atomLinks: [XMLElement],
        _ original: XMLElement?,
        context: FeedContext
    ) -> String? {
        for link in links {
            if let address = context.link(link.text, at: link) ?? context.link(link.attribute("href"), at: link) {
                return address
            }
        }
        return AtomReader.alternate(of: atomLinks, context: context)
            ?? original.flatMap { context.link($0.text, at: $0) }
    }
}
