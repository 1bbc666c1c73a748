/// The reason why a document is not read as a feed.
package enum FeedError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The body is empty or only white space.
    ///
    /// This does not mean that the feed has no entries now.
    case empty
    /// The document is a web page instead of a feed: a consent page, an error page, or the wrong address.
    case html(discovered: [String])
    /// The document can be read, but is not in a feed format.
    case notAFeed(root: String)
    /// The body exceeds ``FeedReader/maximumBytes``.
    case tooLarge(limit: Int)
    /// The bytes cannot be read as a document.
    case unreadable(reason: String)

    package var description: String {
        switch self {
        case .empty:
            "the document is empty"
        case .html(let discovered):
            if let first = discovered.first {
                "the document is a web page, not a feed; the page names the feed \(first)"
            } else {
                "the document is a web page, not a feed, and names no feed"
            }
        case .notAFeed(let root):
            "the document is not a feed: its root is '\(root)'"
        case .tooLarge(let limit):
            "the document is larger than \(limit) bytes"
        case .unreadable(let reason):
            "the document cannot be read: \(reason)"
        }
    }
}
