package import FoundationEssentials

/// One item of a feed.
///
/// Titles, summaries and the pictures inside them are kept as published, and converted to plain text when they are
/// read: most documents have no new entries, so most texts are never read.
package struct Entry: Sendable, Equatable {
    /// The publisher's identifier, trimmed but otherwise unchanged (RFC 4287 §4.2.6.1).
    package var id: String?
    package var link: String?
    /// The entry's pages in other languages, if the feed names them.
    package var translations: [String] = []
    package var published: Date?
    package var updated: Date?
    package var categories: [String] = []
    package var enclosures: [Enclosure] = []
    /// The author that the entry itself names.
    package var byline: Person?
    /// The picture that an element of the entry names.
    package var ownImage: String?
    /// The place of the event.
    package var point: GeographicPoint?
    /// The alert that the entry contains or repeats.
    package var alert: Alert?
    /// True for a draft, which its publisher does not want to be shown (RFC 5023 §13.1.1).
    package var isDraft = false

    /// The title, then texts that replace an empty title.
    var titleTexts: [FeedText] = []
    /// The short text, then the entry's other texts, best first.
    var summaryTexts: [FeedText] = []
    /// The texts that are searched for a picture when no element names one.
    var pictureTexts: [FeedText] = []
    /// The base of the addresses in ``pictureTexts``.
    var pictureBase: String?
    /// The feed's author, for entries that name none (RFC 4287 §4.2.1).
    var inheritedAuthor: String?

    package init() {}

    package var date: Date? { published ?? updated }

    package var title: String? {
        get { titleTexts.lazy.compactMap { $0.plain(limit: FeedText.titleLimit) }.first }
        set { titleTexts = newValue.map { [FeedText($0, .plain)] } ?? [] }
    }

    /// The short text, or else the beginning of the full text.
    package var summary: String? {
        get { summary(limit: FeedText.summaryLimit) }
        set { summaryTexts = newValue.map { [FeedText($0, .plain)] } ?? [] }
    }

    /// The ``summary``, limited to a number of characters; a text that only repeats the title is the last choice.
    package func summary(limit: Int) -> String? {
        guard let first = summaryTexts.first else { return nil }
        guard summaryTexts.count > 1 else { return first.plain(limit: limit) }
        let title = titleTexts.lazy.compactMap { $0.plain(limit: limit) }.first
        var repeated: String?
        for text in summaryTexts {
            guard let plain = text.plain(limit: limit) else { continue }
            if plain != title { return plain }
            repeated = plain
        }
        return repeated
    }

    /// The writer's name, from the entry or else from the feed; never an email address.
    package var author: String? {
        get { byline?.name ?? inheritedAuthor }
        set { byline = Person(name: newValue, mail: nil) }
    }

    /// The entry's picture, or else the first picture in its text.
    package var image: String? {
        get {
            if let ownImage { return ownImage }
            let base = pictureBase.flatMap(URLReference.init)
            return pictureTexts.lazy.compactMap { EntryImage.first(in: $0, base: base) }.first
        }
        set { ownImage = newValue }
    }
}

/// A file that belongs to an entry.
package struct Enclosure: Sendable, Equatable, Codable {
    package var url: String
    /// The media type as given.
    package var type: String?
    /// The size in bytes; `nil` when absent, zero or not a number.
    package var length: Int?

    package init(url: String, type: String? = nil, length: Int? = nil) {
        self.url = url
        self.type = type
        self.length = length
    }
}

/// A position in degrees, on the ellipsoid of GPS (WGS 84).
package struct GeographicPoint: Sendable, Equatable {
    /// Degrees north of the equator.
    package let latitude: Double
    /// Degrees east of Greenwich.
    package let longitude: Double

    /// Creates a point; `nil` for coordinates out of range, and for (0, 0), which publishers use for "unknown".
    init?(latitude: Double, longitude: Double) {
        guard abs(latitude) <= 90, abs(longitude) <= 180, latitude != 0 || longitude != 0 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }
}
