import GRDB
package import HubProtocol
package import WebEdge

/// A change of an account, or an action of its user.
package struct AuditEvent: Sendable, Hashable {
    /// A kind of event, as it is stored; a stored kind may come from a newer version.
    package enum Kind: String, Sendable {
        case accountAdded = "account added"
        case accountRemoved = "account removed"
        case passwordChanged = "password changed"
        case rightsChanged = "rights changed"
        /// A sign-in with a password; later requests with the same password within minutes are not events.
        case signIn = "sign-in"
        /// A login that returned a token.
        case logIn = "log-in"
        case logOut = "log-out"
        /// A request with a token; requests with a valid token are not events.
        case token
        case tokenRevoked = "token revoked"
        /// Another user's device, on which the user has signed in.
        case deviceTakenOver = "device taken over"
        /// A device of the user, on which another user has signed in.
        case deviceLost = "device lost to another user"
        /// A user's device has fetched a payload; refused if there was no payload with this id.
        case payloadFetched = "payload fetched"
        /// A user has sent a payload, to themselves or another user.
        case payloadSent = "payload sent"
    }

    package enum Outcome: String, Sendable {
        case done
        case refused
        /// Refused without a check of the password, after too many wrong ones.
        case slowed
        /// It is unknown whether the hub carried out the request.
        case unconfirmed
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
