import Crypto
import Foundation
import HTTPTypes
import HubProtocol

/// What tells a reader that a document is the one that it has already.
///
/// Source: RFC 9110 §8.8, §13.1.
struct Validators: Sendable {
    let etag: String
    /// `nil` where a later change could have the same second.
    let lastModified: String?

    /// - Parameters:
    ///   - page: The document.
    ///   - origin: What its own addresses begin with.
    ///   - now: The present.
    init(_ page: TagFeeds.Page, origin: String, now: Timestamp) {
        let digest = SHA256.hash(data: Data(page.digest) + Data(origin.utf8)).prefix(Self.digestBytes)
        etag = "\"\(Base64URL.encode(Array(digest)))\""
        lastModified = now.seconds > page.changed.seconds ? HTTPDateText.format(page.changed) : nil
    }

    private static let digestBytes = 16

    /// True if a request that names what its sender has needs no document.
    ///
    /// A date counts only without a tag, and only if it is ours: a date of the client's own says nothing of a document from
    /// which an entry was withdrawn.
    func match(_ headers: HTTPFields) -> Bool {
        if let tags = headers[.ifNoneMatch] {
            return tags.split(separator: ",").contains { tag in
                let tag = tag.trimmingPrefix { $0 == " " }.prefix { $0 != " " }
                return tag == "*" || tag.trimmingPrefix("W/") == etag
            }
        }
        return lastModified != nil && headers[.ifModifiedSince] == lastModified
    }
}
