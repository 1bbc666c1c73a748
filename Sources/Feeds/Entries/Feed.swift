/// A feed document, in the same form for every format.
///
/// All texts are plain, without markup and without control or bidirectional characters. All addresses are absolute
/// `http` or `https` URLs, except `Entry.id`, which is kept as its publisher wrote it.
package struct Feed: Sendable, Equatable {
    package var format: FeedFormat
    package var title: String?
    package var link: String?
    package var language: String?
    /// The feed's own address as the feed gives it, which is the topic of a WebSub subscription.
    package var selfURL: String?
    package var hubs: [String] = []
    /// The number of minutes between polls that the publisher asks for.
    package var ttl: Int?
    package var hints = PollingHints()
    /// The entries in document order.
    package var entries: [Entry] = []
    /// The identifiers of entries that the publisher has deleted (RFC 6721).
    package var deletedIDs: [String] = []
    /// The reason why the document, although it was read, is not well-formed.
    package var malformed: String?
    /// False when the document was truncated or not read to its end.
    ///
    /// In this case its validators must not be stored: the next poll has to fetch the whole document.
    package var isComplete = true
    /// True if the document has more than ``FeedReader/maximumEntries`` entries; the others were not read.
    ///
    /// Its validators may be stored: another poll would return the same entries.
    package var isTruncated = false

    package init(format: FeedFormat) {
        self.format = format
    }
}
