internal import Formats
internal import HubProtocol

extension FeedDocument {
    /// The document as JSON Feed.
    ///
    /// Source: jsonfeed.org/version/1.1.
    var json: String {
        let document: JSONText = [
            "version": "https://jsonfeed.org/version/1.1",
            "title": JSONText(title),
            "home_page_url": JSONText(page),
            "feed_url": JSONText(own(.json)),
            "description": JSONText(summary),
            "authors": Self.authors(author),
            "hubs": webSubHub.map { [["type": "WebSub", "url": JSONText($0)]] },
            "items": JSONText(array: entries.map(Self.item), separator: ",\n"),
        ]
        return document.text + "\n"
    }

    private static func item(_ entry: FeedEntry) -> JSONText {
        [
            "id": JSONText(entry.id),
            "title": JSONText(entry.title),
            // Every item needs content, at least its title.
            "content_text": JSONText(entry.text ?? entry.title),
            "date_published": JSONText(entry.published.wholeSecond),
            "date_modified": JSONText(entry.updated.wholeSecond),
            "tags": [JSONText(entry.category)],
            "url": JSONText(entry.link),
            "image": JSONText(entry.image),
            "authors": entry.author.map(authors),
        ]
    }

    private static func authors(_ name: String) -> JSONText { [["name": JSONText(name)]] }
}
