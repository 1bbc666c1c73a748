internal import Formats
internal import HubProtocol

extension FeedDocument {
    /// The document as JSON Feed.
    ///
    /// Source: jsonfeed.org/version/1.1.
    var json: String {
        var members = [
            ("version", JSONText.string("https://jsonfeed.org/version/1.1")),
            ("title", JSONText.string(title)),
            ("home_page_url", JSONText.string(page)),
            ("feed_url", JSONText.string(own(.json))),
            ("description", JSONText.string(summary)),
            ("authors", Self.authors(author)),
        ]
        if let webSubHub {
            members.append(("hubs", "[\(JSONText.object(["type": "WebSub", "url": webSubHub]))]"))
        }
        members.append(("items", "[\(entries.map(Self.item).joined(separator: ",\n"))]"))
        return Self.object(members) + "\n"
    }

    private static func item(_ entry: FeedEntry) -> String {
        var members = [
            ("id", JSONText.string(entry.id)),
            ("title", JSONText.string(entry.title)),
            // Every item needs content, at least its title.
            ("content_text", JSONText.string(entry.text ?? entry.title)),
            ("date_published", JSONText.string(entry.published.wholeSecond)),
            ("date_modified", JSONText.string(entry.updated.wholeSecond)),
            ("tags", "[\(JSONText.string(entry.category))]"),
        ]
        if let link = entry.link { members.append(("url", JSONText.string(link))) }
        if let image = entry.image { members.append(("image", JSONText.string(image))) }
        if let author = entry.author { members.append(("authors", authors(author))) }
        return object(members)
    }

    private static func authors(_ name: String) -> String { "[\(JSONText.object(["name": name]))]" }

    private static func object(_ members: [(String, String)]) -> String {
        JSONText.object(members.map { (name: $0.0, value: $0.1) })
    }
}
