internal import Formats
internal import FoundationEssentials

/// Reads JSON Feed 1.0 and 1.1.
///
/// A field of the wrong type is skipped; its item is kept.
struct JSONFeedReader {
    private let base: URLReference?
    private let root: JSONNode

    init(root: JSONNode, url: String) {
        base = URLReference(url)
        self.root = root
    }

    static func accepts(_ root: JSONNode) -> Bool {
        let version = root["version"]?.string ?? ""
        return version.lowercased().contains("jsonfeed.org") || root["items"] != nil
    }

    func feed() -> Feed {
        let number = root["version"]?.string?.split(separator: "/").last.map(String.init)
        var feed = Feed(format: FeedFormat(.json, version: number.flatMap { ["1", "1.0"].contains($0) ? "1.0" : $0 }))
        feed.title = FeedText.title(text(root, "title"), .references)
        feed.link = link(root, "home_page_url")
        feed.language = FeedText.trimmed(text(root, "language"))
        feed.selfURL = link(root, "feed_url")
        feed.hubs = (root["hubs"]?.list ?? []).filter { text($0, "type")?.lowercased() == "websub" }
            .compactMap { link($0, "url") }
        let author = author(of: root)?.name
        let items = (root["items"]?.list ?? []).filter { $0.members != nil }
        feed.isTruncated = items.count > FeedReader.maximumEntries
        feed.entries = NewestEntries.read(items) { entry($0, feedAuthor: author) }
        return feed
    }

    private func entry(_ item: JSONNode, feedAuthor: String?) -> Entry {
        var entry = Entry()
        entry.id = FeedText.trimmed(item["id"]?.scalarText)
        // Plain text, but generators that take it from a page leave references in it.
        entry.titleTexts = text(item, "title").map { [FeedText($0, .references)] } ?? []
        entry.link = link(item, "url") ?? link(item, "external_url") ?? FeedContext.link(entry.id, base: nil)
        let html = text(item, "content_html").map { FeedText($0, .html) }
        let texts = [text(item, "summary"), text(item, "content_text")].compactMap { $0.map { FeedText($0, .plain) } }
        entry.summaryTexts = texts + [html].compactMap(\.self)
        entry.published = text(item, "date_published").flatMap(FeedDate.parse)
        entry.updated = text(item, "date_modified").flatMap(FeedDate.parse)
        entry.categories = FeedText.distinct((item["tags"]?.list ?? []).map { FeedText.name($0.string) })
        entry.enclosures = FeedContext.distinct((item["attachments"]?.list ?? []).compactMap(enclosure))
        entry.byline = author(of: item)
        entry.inheritedAuthor = feedAuthor
        entry.ownImage =
            link(item, "image") ?? link(item, "banner_image") ?? entry.enclosures.first(where: EntryImage.isImage)?.url
        entry.pictureTexts = [html].compactMap(\.self)
        entry.pictureBase = base?.text
        return entry
    }

    private func enclosure(_ attachment: JSONNode) -> Enclosure? {
        FeedContext.enclosure(
            link(attachment, "url"),
            type: text(attachment, "mime_type"),
            length: attachment["size_in_bytes"]?.scalarText
        )
    }

    /// The author; version 1.1 has `authors`, 1.0 had `author`.
    private func author(of value: JSONNode) -> Person? {
        ((value["authors"]?.list ?? []) + (value["author"]?.list ?? [])).lazy
            .compactMap { text($0, "name").flatMap { Person($0) } }.first
    }

    private func text(_ value: JSONNode, _ name: String) -> String? { value[name]?.string }

    private func link(_ value: JSONNode, _ name: String) -> String? {
        FeedContext.link(text(value, name), base: base)
    }
}

extension JSONNode {
    /// The text of a string or a number.
    fileprivate var scalarText: String? {
        if case .number(let text) = content { text } else { string }
    }

    /// The values of an array; any other value counts as an array of one.
    fileprivate var list: [JSONNode] {
        switch content {
        case .array(let values): values
        case .null: []
        default: [self]
        }
    }
}
