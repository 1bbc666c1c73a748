internal import Formats
internal import HubProtocol
internal import Markup

/// Writes XML elements, one on each line.
struct FeedXML {
    private(set) var text = ""

    /// Adds an element with text; adds nothing for `nil`.
    mutating func add(_ name: String, _ attributes: [(String, String)] = [], text: String?) {
        guard let text else { return }
        self.text += "<\(name)\(Self.written(attributes))>\(XMLText.escaped(text))</\(name)>\n"
    }

    mutating func add(_ name: String, _ attributes: [(String, String)]) {
        text += "<\(name)\(Self.written(attributes))/>\n"
    }

    mutating func add(_ name: String, _ attributes: [(String, String)] = [], _ build: (inout FeedXML) -> Void) {
        text += "<\(name)\(Self.written(attributes))>\n"
        build(&self)
        text += "</\(name)>\n"
    }

    static func document(
        _ root: String,
        _ attributes: [(String, String)],
        _ build: (inout FeedXML) -> Void
    ) -> String {
        var xml = FeedXML()
        xml.add(root, attributes, build)
        return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n" + xml.text
    }

    private static func written(_ attributes: [(String, String)]) -> String {
        attributes.map { name, value in
            " \(name)=\"\(XMLText.escaped(value).replacing("\"", with: "&quot;"))\""
        }.joined()
    }
}

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
        return FeedXML.document("rss", [("version", "2.0")] + spaces) { xml in
            xml.add("channel") { xml in
                xml.add("title", text: title)
                xml.add("link", text: page)
                xml.add("description", text: summary)
                xml.add("lastBuildDate", text: HTTPDate.text(updated.date))
                xml.add("generator", text: Self.generator)
                addPush("atom:link", own(.rss), FeedFileType.rss, to: &xml)
                for entry in entries { Self.add(entry, toRSS: &xml) }
            }
        }
    }

    private static func add(_ entry: FeedEntry, toRSS xml: inout FeedXML) {
        xml.add("item") { xml in
            // Feed readers treat a title that looks like HTML as HTML, so such a title is escaped as HTML.
            let isAmbiguous = HTMLText.isLikelyMarkup(Array(entry.title.utf8)[...])
            xml.add("title", text: isAmbiguous ? XMLText.escaped(entry.title) : entry.title)
            xml.add("link", text: entry.link)
            // A description is HTML.
            xml.add("description", text: entry.text.map(XMLText.escaped))
            xml.add("dc:creator", text: entry.author)
            xml.add("category", text: entry.category)
            xml.add("guid", [("isPermaLink", "false")], text: entry.id)
            xml.add("pubDate", text: HTTPDate.text(entry.published.date))
            xml.add("atom:updated", text: entry.updated.wholeSecond)
            if let image = entry.image { xml.add("media:content", [("url", image), ("medium", "image")]) }
        }
    }

    /// The document as Atom.
    ///
    /// Source: RFC 4287; RFC 6721 for withdrawn entries.
    var atom: String {
        let spaces = [("xmlns", Self.atomSpace), ("xmlns:at", Self.tombstones), ("xmlns:media", Self.mediaSpace)]
        return FeedXML.document("feed", spaces) { xml in
            xml.add("id", text: id)
            xml.add("title", text: title)
            xml.add("subtitle", text: summary)
            xml.add("updated", text: updated.wholeSecond)
            xml.add("author") { $0.add("name", text: author) }
            xml.add("generator", text: Self.generator)
            xml.add("link", [("rel", "alternate"), ("type", "text/html"), ("href", page)])
            addPush("link", own(.atom), FeedFileType.atom, to: &xml)
            for entry in entries { Self.add(entry, toAtom: &xml) }
            for withdrawal in withdrawals {
                xml.add("at:deleted-entry", [("ref", withdrawal.id), ("when", withdrawal.at.wholeSecond)])
            }
        }
    }

    private static func add(_ entry: FeedEntry, toAtom xml: inout FeedXML) {
        xml.add("entry") { xml in
            xml.add("id", text: entry.id)
            xml.add("title", text: entry.title)
            xml.add("published", text: entry.published.wholeSecond)
            xml.add("updated", text: entry.updated.wholeSecond)
            if let author = entry.author { xml.add("author") { $0.add("name", text: author) } }
            if let link = entry.link { xml.add("link", [("rel", "alternate"), ("href", link)]) }
            xml.add("category", [("term", entry.category)])
            // An entry without an alternate link has content (RFC 4287 §4.1.2).
            let name = entry.link == nil ? "content" : "summary"
            xml.add(name, text: entry.text ?? (entry.link == nil ? entry.title : nil))
            if let image = entry.image { xml.add("media:content", [("url", image), ("medium", "image")]) }
        }
    }

    /// The feed's own address and its WebSub hub (WebSub §4).
    private func addPush(_ name: String, _ own: String, _ type: FeedFileType, to xml: inout FeedXML) {
        let bare = type.mediaType.prefix { $0 != ";" }
        xml.add(name, [("rel", "self"), ("type", String(bare)), ("href", own)])
        if let webSubHub { xml.add(name, [("rel", "hub"), ("href", webSubHub)]) }
    }
}
