internal import Crypto
internal import Formats

/// The id of a story in feeds, which is the same for all of its messages and after every restart of the hub.
///
/// It is a hash, so that addresses contain no sender's text and all have the same length. Its form is a UUID of version
/// 8 (RFC 9562 §5.8).
package struct StoryID: Hashable, Sendable {
    private static let byteCount = 16

    private let bytes: [UInt8]

    /// - Parameters:
    ///   - kind: Distinguishes equal names of different kinds.
    ///   - name: Unique for its kind within the scope.
    ///   - scope: Distinguishes the hub from all others.
    package init(_ kind: Kind, _ name: String, scope: String) {
        var hash = SHA256()
        for part in [scope, kind.rawValue, name] { hash.update(data: Array(part.utf8) + [0]) }
        var bytes = Array(hash.finalize().prefix(Self.byteCount))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        self.bytes = bytes
    }

    package enum Kind: String, Sendable {
        /// A story with a name in ``MessageProperty/story``.
        case story
        /// A message that names no story, identified by its own id.
        case message
        /// The feed of a tag.
        case feed
    }

    /// The id as `urn:uuid:…` (RFC 9562 §4).
    package var urn: String {
        let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hexadecimal.encode(bytes[$0]) }
        return "urn:uuid:\(groups.joined(separator: "-"))"
    }
}
