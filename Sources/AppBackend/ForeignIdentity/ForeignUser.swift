import Crypto
import Foundation

/// A user as another party knows them: an identity provider, or a proxy.
///
/// It is never the name of an account: a user who is called `alice` there is not the local `alice`.
package struct ForeignIdentity: Sendable, Hashable {
    package let issuer: String
    package let subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    /// From columns of the store.
    init?(issuer: String?, subject: String?) {
        guard let issuer, let subject else { return nil }
        self.init(issuer: issuer, subject: subject)
    }
}

/// A user whom another party has signed in.
struct ForeignUser: Sendable, Equatable {
    let identity: ForeignIdentity
    /// Names for a new account, the preferred one first.
    let names: [UserName]
    let roles: Set<Role>

    /// Takes whatever the other party calls the user as `name`.
    init(_ identity: ForeignIdentity, name: String?, suffix: NameSuffix, roles: Set<Role> = []) {
        self.identity = identity
        self.roles = roles
        names = [name.flatMap(suffix.name), suffix.derivedName(identity)].compactMap(\.self)
    }
}

/// The end of the names of all users of another party, as `@corp`.
///
/// Names with such an end are refused to accounts with a password, so that a name says who answers for its user. A user is
/// addressed, and shown as the sender, by the whole name.
package struct NameSuffix: Sendable, Hashable, CustomStringConvertible {
    /// Leaves room for names: a tag's user has 64 characters.
    package static let maximumLength = 32
    private static let derivedPrefix = "u-"
    /// 80 bits of a hash, in hexadecimal.
    private static let derivedDigits = 20

    /// Without the `@`, in small letters.
    private let text: String

    /// `nil` for text that is not 1 to 32 letters, digits, `.` and `-`.
    package init?(_ text: String) {
        let isSuffix = text.utf8.allSatisfy { byte in
            byte != UInt8(ascii: "@") && byte != UInt8(ascii: "_")
                && UserName(String(decoding: [byte], as: UTF8.self)) != nil
        }
        guard isSuffix, (1...Self.maximumLength).contains(text.utf8.count) else { return nil }
        self.text = text.lowercased()
    }

    package var description: String { "@\(text)" }

    func ends(_ name: UserName) -> Bool { name.key.hasSuffix(description) }

    /// The name of a user who is called `claim`; `nil` if that cannot be part of one.
    func name(_ claim: String) -> UserName? {
        // A user could choose the name that another one is to get otherwise, and keep them out.
        let rest = claim.lowercased().dropFirst(Self.derivedPrefix.count)
        let isDerived =
            claim.lowercased().hasPrefix(Self.derivedPrefix) && rest.count == Self.derivedDigits
            && rest.allSatisfy(\.isHexDigit)
        return claim.isEmpty || isDerived ? nil : UserName(claim + description)
    }

    /// A name that no other user gets.
    func derivedName(_ identity: ForeignIdentity) -> UserName? {
        // The length keeps two pairs of texts from giving one.
        let text = "\(identity.issuer.utf8.count) \(identity.issuer) \(identity.subject)"
        let digits = SHA256.hash(data: Data(text.utf8)).prefix(Self.derivedDigits / 2).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return UserName(Self.derivedPrefix + digits.joined() + description)
    }
}
