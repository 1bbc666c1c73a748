internal import Feeds
internal import FoundationEssentials

/// An entry that is held until its date, with what its message needs: it may have left its feed by then.
struct HeldEntry: Sendable, Equatable, Codable {
    /// Maximum number of entries kept for a feed; further ones are announced only if they are still in the feed.
    static let maximumCount = 1_000

    private let id: String?
    private let link: String?
    private let translations: [String]
    private let published: Date?
    private let updated: Date?
    private let title: String?
    private let summary: String?
    private let categories: [String]
    private let files: [Enclosure]
    private let author: String?
    private let image: String?

    init(_ entry: Entry) {
        id = entry.id
        link = entry.link
        translations = entry.translations
        published = entry.published
        updated = entry.updated
        title = entry.title
        summary = entry.summary
        categories = entry.categories
        files = entry.enclosures
        author = entry.author
        image = entry.image
    }

    var entry: Entry {
        var entry = Entry()
        (entry.id, entry.link, entry.translations) = (id, link, translations)
        (entry.published, entry.updated) = (published, updated)
        (entry.title, entry.summary, entry.categories) = (title, summary, categories)
        (entry.enclosures, entry.author, entry.image) = (files, author, image)
        return entry
    }
}
