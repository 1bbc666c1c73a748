package import FoundationEssentials

/// A feed document in the one shape that every format is read into.
///
/// All texts are plain: no markup, no control or bidirectional characters. All addresses are absolute `http` or
/// `https` URLs, except `Entry.id`, which stands as its publisher wrote it.
package struct Feed: Sendable, Equatable {
    package var format: FeedFormat
    package var title: String?
    package var link: String?
    package var language: String?
    /// The address that the feed gives as its own; the topic of a WebSub subscription.
    package var selfURL: String?
    package var hubs: [String] = []
    /// Minutes between polls that the publisher asks for.
    package var ttl: Int?
    /// In document order.
    package var entries: [Entry] = []
    /// Why the document is not well-formed, when it was read nevertheless.
    package var malformed: String?
    /// False when the document was cut or not read to its end.
    ///
    /// Its validators must not be stored then: the next poll has to bring the whole document.
    package var isComplete = true

    package init(format: FeedFormat) {
        self.format = format
    }
}

/// One item of a feed.
package struct Entry: Sendable, Equatable {
    /// The publisher's identifier, trimmed and otherwise untouched (RFC 4287 §4.2.6.1).
    package var id: String?
    package var title: String?
    package var link: String?
    /// The short text, else the beginning of the full text.
    package var summary: String?
    package var published: Date?
    package var updated: Date?
    package var categories: [String] = []
    package var enclosures: [Enclosure] = []
    package var author: String?
    package var image: String?

    package init() {}

    package var date: Date? { published ?? updated }
}

/// A file that belongs to an entry.
package struct Enclosure: Sendable, Equatable {
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
