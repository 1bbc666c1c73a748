package import HubProtocol

/// Something that happened to an account, or that its user did.
package struct AuditEvent: Sendable, Hashable {
    /// A kind of event; a stored one may be of a newer version.
    package struct Kind: Sendable, Hashable {
        package let text: String

        package init(_ text: String) { self.text = text }

        package static let accountAdded = Kind("account added")
        package static let accountRemoved = Kind("account removed")
        package static let passwordChanged = Kind("password changed")
        package static let rightsChanged = Kind("rights changed")
        /// With a password; later requests with the same password within minutes are not events.
        package static let signIn = Kind("sign-in")
        /// A token was handed out.
        package static let logIn = Kind("log-in")
        package static let logOut = Kind("log-out")
        /// A request with a token; valid ones are not events.
        package static let token = Kind("token")
        package static let tokenRevoked = Kind("token revoked")
    }

    package struct Outcome: Sendable, Hashable {
        package let text: String

        package init(_ text: String) { self.text = text }

        package static let done = Outcome("done")
        package static let refused = Outcome("refused")
        /// Refused unseen, since wrong passwords came before.
        package static let slowed = Outcome("slowed")
        /// It is unknown if the hub did what it was asked for.
        package static let unconfirmed = Outcome("unconfirmed")
    }

    /// The user; `nil` where there is none of the name that was given, which is not kept.
    package let who: UserName?
    package let what: Kind
    package let outcome: Outcome
    /// `nil` for what was done at the command line.
    package let network: ClientNetwork?

    package init(_ who: UserName?, _ what: Kind, _ outcome: Outcome, _ network: ClientNetwork?) {
        self.who = who
        self.what = what
        self.outcome = outcome
        self.network = network
    }
}

/// A line of the audit log: equal events within a while.
package struct AuditRecord: Sendable, Equatable {
    package let at: Timestamp
    /// When the last of them happened.
    package let lastAt: Timestamp
    package let count: Int
    package let who: String?
    package let what: String
    package let outcome: String
    package let network: String?
}
