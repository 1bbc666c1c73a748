/// A feed format, which is also the extension in a feed's address.
package enum FeedFileType: String, Sendable, CaseIterable {
    /// RSS 2.0.
    case rss
    /// Atom 1.0 (RFC 4287).
    case atom
    /// JSON Feed 1.1.
    case json

    package var mediaType: String {
        switch self {
        case .rss: "application/rss+xml; charset=utf-8"
        case .atom: "application/atom+xml; charset=utf-8"
        // JSON text is always UTF-8; the media type has no charset parameter (RFC 8259 §11).
        case .json: "application/feed+json"
        }
    }
}
