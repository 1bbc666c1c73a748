package import FoundationEssentials

/// One item of a feed.
///
/// Titles, summaries and the pictures inside them are kept as published and made plain when asked for: of most
/// documents nothing is new, and no text is asked for.
package struct Entry: Sendable, Equatable {
    /// The publisher's identifier, trimmed and otherwise untouched (RFC 4287 §4.2.6.1).
    package var id: String?
    package var link: String?
    /// The entry's pages in other languages, where the feed names them.
    package var translations: [String] = []
    package var published: Date?
    package var updated: Date?
    package var categories: [String] = []
    package var enclosures: [Enclosure] = []
    /// The author that the entry itself names.
    package var byline: Person?
    /// The picture that the entry names as such.
    package var ownImage: String?
    /// The place of the event.
    package var point: GeographicPoint?
    /// The warning that the entry is, or repeats.
    package var alert: Alert?

    /// The title, then the texts that replace an empty one.
    var titleTexts: [FeedText] = []
    /// The short text, then what else the entry says, best first.
    var summaryTexts: [FeedText] = []
    /// The texts in which a picture is searched for when no element names one.
    var pictureTexts: [FeedText] = []
    /// The base of addresses in ``pictureTexts``.
    var pictureBase: String?
    /// The feed's author, for entries that name none (RFC 4287 §4.2.1).
    var inheritedAuthor: String?

    package init() {}

    package var date: Date? { published ?? updated }

    package var title: String? {
        get { titleTexts.lazy.compactMap { $0.plain(limit: FeedText.titleLimit) }.first }
        set { titleTexts = newValue.map { [FeedText($0, .plain)] } ?? [] }
    }

    /// The short text, else the beginning of the full text.
    package var summary: String? {
        get { summary(limit: FeedText.summaryLimit) }
        set { summaryTexts = newValue.map { [FeedText($0, .plain)] } ?? [] }
    }

    /// ``summary`` in no more than so many characters; a text that only repeats the title is the last choice.
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

    /// The writer's name, the entry's own or else the feed's; never a mail address.
    package var author: String? {
        get { byline?.name ?? inheritedAuthor }
        set { byline = Person(name: newValue, mail: nil) }
    }

    /// The entry's picture, else the first in its text.
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
package struct Enclosure: Sendable, Equatable, Encodable {
    package var url: String
    /// The media type as given.
    package var type: String?
    /// Bytes; `nil` when absent, zero or not a number.
    package var length: Int?

    package init(url: String, type: String? = nil, length: Int? = nil) {
        self.url = url
        self.type = type
        self.length = length
    }
}

/// A place in degrees, on the ellipsoid of GPS (WGS 84).
package struct GeographicPoint: Sendable, Equatable {
    /// North of the equator.
    package let latitude: Double
    /// East of Greenwich.
    package let longitude: Double

    /// `nil` for coordinates out of range, and for (0, 0), which publishers write for "unknown".
    init?(latitude: Double, longitude: Double) {
        guard abs(latitude) <= 90, abs(longitude) <= 180, latitude != 0 || longitude != 0 else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }
}
