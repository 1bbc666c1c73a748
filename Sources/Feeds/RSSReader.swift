internal import FoundationEssentials
internal import Markup

/// Reads RSS 0.90 to 2.0, all by the rules of 2.0; where RDF differs, it differs in places only.
struct RSSReader {
    private let context: FeedContext
    private let root: XMLElement
    private let channel: XMLElement
    private let entries: RSSEntryReader

    init(root: XMLElement, context: FeedContext) {
        self.context = context
        self.root = root
        entries = RSSEntryReader(context)
        channel = root.name == "channel" ? root : root.first("channel") ?? root
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
        feed.link = link(of: channel)
        feed.language = FeedText.trimmed(
            (channel.first("language") ?? channel.first("dc:language"))?.text
                ?? channel.attribute("xml:lang") ?? root.attribute("xml:lang")
        )
        for link in channel.all("atom:link") {
            guard let address = context.link(link.attribute("href"), at: link) else { continue }
            let relations = AtomReader.relations(of: link)
            if relations.contains("self"), feed.selfURL == nil { feed.selfURL = address }
            if relations.contains("hub") { feed.hubs.append(address) }
        }
        feed.ttl = FeedText.trimmed(channel.first("ttl")?.text).flatMap { Int($0) }
        feed.hints = PollingHints(channel: channel)
        feed.entries = Self.items(below: root, depth: 0).prefix(FeedReader.maximumEntries).map(entries.entry)
        return feed
    }

    private var format: FeedFormat {
        if root.name.hasPrefix("rdf") {
            let isNetscape = channel.namespace?.contains("simple/0.9") ?? false
            return FeedFormat(.rss, version: isNetscape ? "0.90" : "1.0")
        }
        guard let version = FeedText.trimmed(root.attribute("version")) else { return FeedFormat(.rss, version: nil) }
        let known = ["0.90", "0.91", "0.92", "0.93", "0.94", "1.0", "2.0"]
        if version.hasPrefix("2.") || version == "2" { return FeedFormat(.rss, version: "2.0") }
        return FeedFormat(.rss, version: known.contains(version) ? version : nil)
    }

    /// Items beside and inside the channel, and inside one another where an end tag was forgotten, in document order.
    private static func items(below element: XMLElement, depth: Int) -> [XMLElement] {
        guard depth < 8 else { return [] }
        return element.children.flatMap { child -> [XMLElement] in
            switch child.name {
            case "item": (child.isClosed ? [child] : []) + items(below: child, depth: depth + 1)
            case "channel", "items", "rss": items(below: child, depth: depth + 1)
            default: []
            }
        }
    }

    /// The page of a channel.
    private func link(of element: XMLElement) -> String? {
        for link in element.all("link") {
            if let address = context.link(link.text, at: link) ?? context.link(link.attribute("href"), at: link) {
                return address
            }
        }
        return AtomReader.alternate(of: element.all("atom:link"), context: context)
            ?? element.first("feedburner:origlink").flatMap { context.link($0.text, at: $0) }
    }
}
