import Crypto
import Formats
import Foundation
import HTTPTypes
import HubProtocol

/// The validators by which a reader recognizes an unchanged document.
///
/// Source: RFC 9110 §8.8, §13.1.
struct Validators: Sendable {
    let etag: String
    /// `nil` if a later change could have the same second.
    let lastModified: String?

    /// Creates the validators of a document.
    ///
    /// - Parameters:
    ///   - page: The document.
    ///   - origin: The origin of the document's own addresses.
    ///   - now: The present time.
    init(_ page: TagFeeds.Page, origin: String, now: Timestamp) {
        let digest = SHA256.hash(data: Data(page.digest) + Data(origin.utf8)).prefix(Self.digestBytes)
        etag = "\"\(Base64URL.encode(Array(digest)))\""
        lastModified = now.seconds > page.changed.seconds ? HTTPDate.text(page.changed.date) : nil
    }

    private static let digestBytes = 16

    /// True if the client has the document already.
    ///
    /// A date counts only if the request has no entity tag, and only if the hub has issued it: any other date says
    /// nothing about a document from which an entry was withdrawn.
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
