/// A feed document in the one shape that every format is read into.
///
/// All texts are plain: no markup, no control or bidirectional characters. All addresses are absolute `http` or
/// `https` URLs, except `Entry.id`, which is as its publisher wrote it.
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
    package var hints = PollingHints()
    /// In document order.
    package var entries: [Entry] = []
    /// The reason why a document that was read is not well-formed.
    package var malformed: String?
    /// False when the document was cut or not read to its end.
    ///
    /// Its validators must not be stored then: the next poll has to bring the whole document.
    package var isComplete = true
    /// True if the document has more entries than ``FeedReader/maximumEntries``, which were read.
    ///
    /// Its validators may be stored: another poll would bring the same entries.
    package var isTruncated = false

    package init(format: FeedFormat) {
        self.format = format
    }
}
