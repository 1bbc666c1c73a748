import GRDB
package import HubProtocol
package import WebEdge

/// A change of an account, or an action of its user.
package struct AuditEvent: Sendable, Hashable {
    /// A kind of event; a stored kind may come from a newer version.
    package struct Kind: Sendable, Hashable {
        package let text: String

        package init(_ text: String) { self.text = text }

        package static let accountAdded = Kind("account added")
        package static let accountRemoved = Kind("account removed")
        package static let passwordChanged = Kind("password changed")
        package static let rightsChanged = Kind("rights changed")
        /// A sign-in with a password; later requests with the same password within minutes are not events.
        package static let signIn = Kind("sign-in")
        /// A login that returned a token.
        package static let logIn = Kind("log-in")
        package static let logOut = Kind("log-out")
        /// A request with a token; requests with a valid token are not events.
        package static let token = Kind("token")
        package static let tokenRevoked = Kind("token revoked")
    }

    package struct Outcome: Sendable, Hashable {
        package let text: String

        package init(_ text: String) { self.text = text }

        package static let done = Outcome("done")
        package static let refused = Outcome("refused")
        /// Refused without a check of the password, after too many wrong ones.
        package static let slowed = Outcome("slowed")
        /// It is unknown whether the hub carried out the request.
        package static let unconfirmed = Outcome("unconfirmed")
    }

    /// The user; `nil` if there is no user with the given name, which is not stored.
    package let who: UserName?
    package let what: Kind
    package let outcome: Outcome
    /// The client's network; `nil` for actions on the command line.
    package let network: ClientNetwork?

    package init(_ who: UserName?, _ what: Kind, _ outcome: Outcome, _ network: ClientNetwork?) {
        self.who = who
        self.what = what
        self.outcome = outcome
        self.network = network
    }
}

/// A line of the audit log: equal events within a period.
package struct AuditRecord: Sendable, Equatable, Decodable, FetchableRecord {
    package let at: Timestamp
    /// The time of the last of the equal events.
    package let lastAt: Timestamp
    package let count: Int
    package let who: String?
    package let what: String
    package let outcome: String
    package let network: String?
}
