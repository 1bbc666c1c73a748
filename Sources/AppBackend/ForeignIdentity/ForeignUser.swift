import Crypto
import Formats
import Foundation

/// A user's identity at another party: an identity provider or a proxy.
///
/// It is never an account's name: a user called `alice` there is not the local `alice`.
package struct ForeignIdentity: Sendable, Hashable {
    package let issuer: String
    package let subject: String
}

extension ForeignIdentity {
    /// Creates an identity from columns of the store.
    init?(issuer: String?, subject: String?) {
        guard let issuer, let subject else { return nil }
        self.init(issuer: issuer, subject: subject)
    }
}

/// A user whom another party has signed in.
struct ForeignUser: Sendable, Equatable {
    let identity: ForeignIdentity
    /// Candidate names for a new account, the preferred one first.
    let names: [UserName]
    let roles: Set<Role>

    /// Creates a user; `name` is the other party's name for the user, which can be any text.
    init(_ identity: ForeignIdentity, name: String?, suffix: NameSuffix, roles: Set<Role> = []) {
        self.identity = identity
        self.roles = roles
        names = [name.flatMap(suffix.name), suffix.derivedName(identity)].compactMap(\.self)
    }
}

/// The suffix of the names of all users of another party, such as `@corp`.
///
/// Accounts with a password cannot have such a suffix, so a name shows which party authenticates its user. A user is
/// addressed, and shown as the sender, by the whole name.
package struct NameSuffix: Sendable, Hashable, CustomStringConvertible {
    /// The longest suffix, which leaves room for names: the user in a tag has up to 64 characters.
    package static let maximumLength = 32
    private static let derivedPrefix = "u-"
    /// The number of hexadecimal digits of a derived name: 80 bits of a hash.
    private static let derivedDigits = 20

    /// The suffix without the `@`, in lower case.
    private let text: String

    /// Creates a suffix; `nil` for text that is not 1 to 32 letters, digits, `.` and `-`.
    package init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.hasOnlyLettersAndDigits(or: ".-") else {
            return nil
        }
        self.text = text.lowercased()
    }

    package var description: String { "@\(text)" }

    func ends(_ name: UserName) -> Bool { name.key.hasSuffix(description) }

    /// The name of a user called `claim`; `nil` if the claim cannot be part of a name.
    func name(_ claim: String) -> UserName? {
        // Otherwise a user could choose the derived name of another user, and lock that user out.
        let rest = claim.lowercased().dropFirst(Self.derivedPrefix.count)
        let isDerived =
            claim.lowercased().hasPrefix(Self.derivedPrefix) && rest.count == Self.derivedDigits
            && rest.allSatisfy(\.isHexDigit)
        return claim.isEmpty || isDerived ? nil : UserName(claim + description)
    }

    /// The name that is derived from an identity, which no other user gets.
    func derivedName(_ identity: ForeignIdentity) -> UserName? {
        // The length prevents two different pairs from giving the same text.
        let text = "\(identity.issuer.utf8.count) \(identity.issuer) \(identity.subject)"
        let digits = Hexadecimal.encode(SHA256.hash(data: Data(text.utf8)).prefix(Self.derivedDigits / 2))
        return UserName(Self.derivedPrefix + digits + description)
    }
}
