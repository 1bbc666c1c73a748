/// A name that users have in common; which roles may notify other users is configured.
///
/// Accounts have roles from their operator, and users of an identity provider also those that it gives them.
package struct Role: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Characters of the longest name.
    static let maximumLength = 128
    /// Roles of one account.
    package static let maximumPerAccount = 32

    package let text: String

    /// `nil` for an empty or long text, and for one with a comma, which separates roles in the configuration, or a control
    /// character, which separates them in the store.
    package init?(_ text: String) {
        let isName = text.unicodeScalars.allSatisfy { scalar in
            scalar != "," && scalar.properties.generalCategory != .control
        }
        guard isName, (1...Self.maximumLength).contains(text.count), text.first != " ", text.last != " " else {
            return nil
        }
        self.text = text
    }

    package var description: String { text }

    package static func < (one: Role, other: Role) -> Bool { one.text < other.text }
}
