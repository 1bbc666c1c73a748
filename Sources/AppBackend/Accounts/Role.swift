/// A name for a group of users; the configuration lists the roles whose users may notify others.
///
/// An operator gives roles to accounts. Users of an identity provider also have the roles that it gives them.
package struct Role: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The longest name, in characters.
    static let maximumLength = 128
    /// The largest number of roles of one account.
    package static let maximumPerAccount = 32

    package let text: String

    /// Creates a role; `nil` for text that is empty, too long, or has a comma or a control character.
    ///
    /// Commas separate roles in the configuration, and control characters separate them in the store.
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
