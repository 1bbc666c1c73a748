internal import FoundationEssentials
internal import Markup

/// Reads RSS 0.90 to 2.0, all by the rules of 2.0; where RDF differs, it differs in places only.
struct RSSReader {
    private let context: FeedContext
    private let root: XMLElement
    private let channel: XMLElement

    init(root: XMLElement, context: FeedContext) {
        self.context = context
        self.root = root
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
        feed.entries = Self.items(below: root, depth: 0).prefix(FeedReader.maximumEntries).map(entry)
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

    private func entry(_ item: XMLElement) -> Entry {
        let media = MediaRSS(item, context: context)
        let guid = item.first("guid")
        let description = item.first("description")
        let content = item.first("content:encoded") ?? item.first("xhtml:body") ?? item.first("xhtml:div")
        var entry = Entry()
        entry.id = FeedText.trimmed(guid?.text) ?? FeedText.trimmed(item.attribute("rdf:about"))
        entry.title = context.title(item.first("title")) ?? context.title(item.first("dc:title"))
        entry.link = link(of: item) ?? permalink(guid)
        entry.summary = summary(of: item, description: description, content: content, title: entry.title)
        entry.published = date(item, "pubdate", "dc:date", "dcterms:issued", "dcterms:created", "atom:published")
        entry.updated = date(item, "atom:updated", "dcterms:modified", "lastbuilddate", "atom:modified")
        entry.categories = categories(of: item)
        entry.enclosures = FeedContext.distinct(enclosures(of: item))
        entry.author = author(of: item)
        entry.image =
            media.image ?? entry.enclosures.first(where: EntryImage.isImage)?.url
            ?? item.first("itunes:image").flatMap { context.link($0.attribute("href") ?? $0.text, at: $0) }
            ?? [content, description].lazy.compactMap { element in
                element.flatMap { EntryImage.first(in: context.html($0), base: context.base(of: $0)) }
            }.first
        return entry
    }

    private func link(of element: XMLElement) -> String? {
        for link in element.all("link") {
            if let address = context.link(link.text, at: link) ?? context.link(link.attribute("href"), at: link) {
                return address
            }
        }
        return AtomReader.alternate(of: element.all("atom:link"), context: context)
            ?? element.first("feedburner:origlink").flatMap { context.link($0.text, at: $0) }
    }

    /// Without `isPermaLink` a guid is one by the letter, but many are no URL: only an absolute one is taken.
    private func permalink(_ guid: XMLElement?) -> String? {
        guard let guid, guid.attribute("ispermalink")?.lowercased() != "false" else { return nil }
        return FeedContext.link(guid.text, base: nil)
    }

    private func summary(of item: XMLElement, description: XMLElement?, content: XMLElement?, title: String?) -> String?
    {
        let short = FeedText.summary(context.html(description), .html)
        if let short, short != title { return short }
        let others =
            [content]
            + ["dc:description", "itunes:summary", "itunes:subtitle", "media:description"].map {
                item.first($0)
            }
        return others.lazy.compactMap { FeedText.summary(context.html($0), .html) }.first ?? short
    }

    private func categories(of item: XMLElement) -> [String] {
        FeedText.distinct(
            item.children.flatMap { element -> [String?] in
                switch element.name {
                case "category", "dc:subject", "media:category": [FeedText.name(element.text, .plain)]
                case "itunes:category": [FeedText.name(element.attribute("text"))]
                case "itunes:keywords", "media:keywords":
                    element.text.split(separator: ",").map { FeedText.name(String($0)) }
                default: []
                }
            }
        )
    }

    private func enclosures(of item: XMLElement) -> [Enclosure] {
        item.all("enclosure", "enc:enclosure").compactMap { element in
            let address = element.attribute("url") ?? element.attribute("rdf:resource") ?? element.attribute("href")
            return context.link(address, at: element).map {
                Enclosure(
                    url: $0,
                    type: FeedText.trimmed(element.attribute("type") ?? element.attribute("enc:type")),
                    length: FeedContext.length(element.attribute("length") ?? element.attribute("enc:length"))
                )
            }
        }
    }

    private func author(of item: XMLElement) -> String? {
        for name in ["author", "dc:creator", "atom:author", "itunes:author"] {
            for element in item.all(name) {
                let person = (element.first("name") ?? element.first("atom:name") ?? element).text
                if let author = FeedText.person(person) { return author }
            }
        }
        return nil
    }

    private func date(_ item: XMLElement, _ names: String...) -> Date? {
        names.lazy.compactMap { name in item.first(name).flatMap { FeedDate.parse($0.text) } }.first
    }
}
