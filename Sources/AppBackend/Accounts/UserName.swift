/// What a person signs in with and is notified by: 1 to 64 of `A-Z a-z 0-9 . _ @ -`.
///
/// Names are the same ignoring case. `:` would end the name in Basic credentials (RFC 7617 §2), and `#` in a query that a
/// client does not escape.
package struct UserName: Hashable, Sendable, CustomStringConvertible {
    /// As it was given.
    package let text: String
    /// In small letters, as it is stored, compared and tagged.
    package let key: String

    /// `nil` for text that is not a name.
    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
        key = text.lowercased()
    }

    package var description: String { text }

    package static func == (one: UserName, other: UserName) -> Bool { one.key == other.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "._@-".utf8.contains(byte)
        }
    }
}
