internal import Markup

/// Reads the pictures and texts of Media RSS, at an entry or grouped below it.
///
/// The other files of Media RSS are renditions of the entry's content, not attachments.
struct MediaRSS {
    /// Element names; an entry with media has at least one of them.
    static let names = XMLNameTable(
        FeedNames.vocabulary,
        names: ["media:group", "media:content", "media:thumbnail", "media:title", "media:description"]
    )

    private let context: FeedContext
    private let contents: [XMLElement]
    private let thumbnails: [XMLElement]
    let title: XMLElement?
    let description: XMLElement?

    init(_ item: XMLElement, context: FeedContext) {
        self.context = context
        guard context.hasMedia else {
            (contents, thumbnails, title, description) = ([], [], nil, nil)
            return
        }
        let places = [item] + item.all("media:group")
        contents = places.flatMap { $0.all("media:content") }
        thumbnails = places.flatMap { $0.all("media:thumbnail") } + contents.flatMap { $0.all("media:thumbnail") }
        title = places.lazy.compactMap { $0.first("media:title") }.first
        description = places.lazy.compactMap { $0.first("media:description") }.first
    }

    /// The widest picture; if no width is given, the first.
    var image: String? {
        let pictures = contents.filter(Self.isImage)
        let widest = pictures.max { Self.width($0) < Self.width($1) }
        return ((widest.map { [$0] } ?? []) + thumbnails).lazy.compactMap { element in
            context.link(element.attribute("url"), at: element)
        }.first
    }

    private static func isImage(_ content: XMLElement) -> Bool {
        if let medium = content.attribute("medium") { return medium.lowercased() == "image" }
        return content.attribute("type")?.lowercased().hasPrefix("image/") ?? false
    }

    private static func width(_ content: XMLElement) -> Int { content.attribute("width").flatMap { Int($0) } ?? 0 }
}
