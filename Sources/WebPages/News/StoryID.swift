internal import Crypto

/// The name of a story in feeds, the same for all of its messages and at every restart of the hub.
///
/// A hash, so that no sender's text gets into addresses and none takes more room than another. It is a UUID of version 8
/// (RFC 9562 §5.8).
package struct StoryID: Hashable, Sendable {
    private static let byteCount = 16

    private let bytes: [UInt8]

    /// - Parameters:
    ///   - kind: Tells names of one kind from equal ones of another.
    ///   - name: Unique for its kind within the scope.
    ///   - scope: Tells the hub from all others.
    package init(_ kind: Kind, _ name: String, scope: String) {
        var hash = SHA256()
        for part in [scope, kind.rawValue, name] { hash.update(data: Array(part.utf8) + [0]) }
        var bytes = Array(hash.finalize().prefix(Self.byteCount))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        self.bytes = bytes
    }

    package enum Kind: String, Sendable {
        /// Named by ``MessageProperty/story``.
        case story
        /// Of a message that names no story: by its id.
        case message
        /// The feed of a tag.
        case feed
    }

    /// `urn:uuid:…` (RFC 9562 §4).
    package var urn: String {
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        var groups: [Substring] = []
        var rest = digits[...]
        for length in [8, 4, 4, 4, 12] {
            groups.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return "urn:uuid:\(groups.joined(separator: "-"))"
    }
}
