internal import Formats
internal import HubProtocol
internal import Markup

extension FeedDocument {
    private static let generator = "newswire"
    private static let atomSpace = "http://www.w3.org/2005/Atom"
    private static let mediaSpace = "http://search.yahoo.com/mrss/"
    private static let dublinCore = "http://purl.org/dc/elements/1.1/"
    /// The namespace of RFC 6721.
    private static let tombstones = "http://purl.org/atompub/tombstones/1.0"

    /// The document as RSS.
    ///
    /// Source: RSS 2.0.11, with elements of Atom, Dublin Core and Media RSS where RSS has none.
    var rss: String {
        let spaces = [("xmlns:atom", Self.atomSpace), ("xmlns:dc", Self.dublinCore), ("xmlns:media", Self.mediaSpace)]
        return Self.document("rss", [("version", "2.0")] + spaces) { xml in
            xml.add("channel") { xml in
                xml.addAlways("title", title)
                xml.add("link", page)
                xml.addAlways("description", summary)
                xml.add("lastBuildDate", HTTPDate.text(updated.date))
                xml.add("generator", Self.generator)
                addPush("atom:link", own(.rss), FeedFileType.rss, to: &xml)
                for entry in entries { Self.add(entry, toRSS: &xml) }
            }
        }
    }

    private static func add(_ entry: FeedEntry, toRSS xml: inout XMLDocumentText) {
        xml.add("item") { xml in
            // Feed readers treat a title that looks like HTML as HTML, so such a title is escaped as HTML.
            let isAmbiguous = HTMLText.isLikelyMarkup(Array(entry.title.utf8)[...])
            xml.addAlways("title", isAmbiguous ? XMLText.escaped(entry.title) : entry.title)
            xml.addAlways("link", entry.link)
            // A description is HTML.
            xml.addAlways("description", entry.text.map(XMLText.escaped))
            xml.addAlways("dc:creator", entry.author)
            xml.add("category", entry.category)
            xml.addAlways("guid", attributes: [("isPermaLink", "false")], entry.id)
            xml.add("pubDate", HTTPDate.text(entry.published.date))
            xml.add("atom:updated", entry.updated.wholeSecond)
            if let image = entry.image { xml.add("media:content", attributes: [("url", image), ("medium", "image")]) }
        }
    }

    /// The document as Atom.
    ///
    /// Source: RFC 4287; RFC 6721 for withdrawn entries.
    var atom: String {
        let spaces = [("xmlns", Self.atomSpace), ("xmlns:at", Self.tombstones), ("xmlns:media", Self.mediaSpace)]
        return Self.document("feed", spaces) { xml in
            xml.add("id", id)
            xml.addAlways("title", title)
            xml.addAlways("subtitle", summary)
            xml.add("updated", updated.wholeSecond)
            xml.add("author") { $0.add("name", author) }
            xml.add("generator", Self.generator)
            xml.add("link", attributes: [("rel", "alternate"), ("type", "text/html"), ("href", page)])
            addPush("link", own(.atom), FeedFileType.atom, to: &xml)
            for entry in entries { Self.add(entry, toAtom: &xml) }
            for withdrawal in withdrawals {
                xml.add("at:deleted-entry", attributes: [("ref", withdrawal.id), ("when", withdrawal.at.wholeSecond)])
            }
        }
    }

    private static func add(_ entry: FeedEntry, toAtom xml: inout XMLDocumentText) {
        xml.add("entry") { xml in
            xml.add("id", entry.id)
            xml.addAlways("title", entry.title)
            xml.add("published", entry.published.wholeSecond)
            xml.add("updated", entry.updated.wholeSecond)
            if let author = entry.author { xml.add("author") { $0.add("name", author) } }
            if let link = entry.link { xml.add("link", attributes: [("rel", "alternate"), ("href", link)]) }
            xml.add("category", attributes: [("term", entry.category)])
            // An entry without an alternate link has content (RFC 4287 §4.1.2).
            let name = entry.link == nil ? "content" : "summary"
            xml.addAlways(name, entry.text ?? (entry.link == nil ? entry.title : nil))
            if let image = entry.image { xml.add("media:content", attributes: [("url", image), ("medium", "image")]) }
        }
    }

    private static func document(
        _ root: String,
        _ attributes: XMLDocumentText.Attributes,
        _ build: (inout XMLDocumentText) -> Void
    ) -> String {
        var xml = XMLDocumentText(lineEnd: "\n")
        xml.add(root, attributes: attributes, build)
        return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + xml.content
    }

    /// The feed's own address and its WebSub hub (WebSub §4).
    private func addPush(_ name: String, _ own: String, _ type: FeedFileType, to xml: inout XMLDocumentText) {
        let bare = type.mediaType.prefix { $0 != ";" }
        xml.add(name, attributes: [("rel", "self"), ("type", String(bare)), ("href", own)])
        if let webSubHub { xml.add(name, attributes: [("rel", "hub"), ("href", webSubHub)]) }
    }
}
