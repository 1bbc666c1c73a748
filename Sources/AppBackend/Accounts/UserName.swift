import Formats

/// The name with which a user signs in and is notified: 1 to 64 characters of `A-Z a-z 0-9 . _ @ -`.
///
/// Names are case-insensitive. A `:` would end the name in Basic credentials (RFC 7617 §2), and a `#` would end a query
/// that a client does not escape.
package struct UserName: Hashable, Sendable, CustomStringConvertible {
    /// The name as it was given.
    package let text: String
    /// The name in lower case, as it is stored, compared and used in tags.
    package let key: String

    /// Creates a user name; `nil` for text that is not a valid name.
    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.hasOnlyLettersAndDigits(or: "._@-") else { return nil }
        self.text = text
        key = text.lowercased()
    }

    package var description: String { text }

    package static func == (one: UserName, other: UserName) -> Bool { one.key == other.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
