package import HubProtocol

/// A person who can sign in.
package struct Account: Sendable, Equatable {
    let id: Int64
    /// A number that changes with the password.
    let version: Int64
    package let name: UserName
    package let mayNotifyOthers: Bool
    /// True if the account may write and send messages at the desk of the hub's pages.
    package var mayUseDesk = false
    package let createdAt: Timestamp
    /// The time when the password was last set, or the account of a user of another party was created.
    package let passwordAt: Timestamp
    package var roles: Set<Role> = []
    /// The user's identity at the party that signs them in; `nil` for users with a local password.
    package var identity: ForeignIdentity?
}

/// The reasons why an account cannot be created or changed.
package enum AccountError: Error, Equatable, CustomStringConvertible {
    case unknown(UserName)
    case taken(UserName)
    /// The name belonged to an account that was removed recently.
    case retained(UserName, until: Timestamp)
    /// The name belonged to a removed account whose devices could not be deleted yet.
    case devicesLeft(UserName)
    case noToken(Int64, of: UserName)
    case tooManyRoles(UserName)
    /// The name is reserved for users of another party.
    case reserved(UserName, NameSuffix)
    /// Another party signs this user in, so there is no password.
    case foreign(UserName)
    /// Other parties already have the largest number of accounts.
    case tooManyForeign

    package var description: String {
        switch self {
        case .unknown(let name): "there is no user '\(name)'"
        case .taken(let name): "cannot add user '\(name)': the name is taken"
        case .retained(let name, let end):
            "cannot add user '\(name)': the name of a removed user is reserved until \(end.wholeSecond)"
        case .devicesLeft(let name):
            "cannot add user '\(name)': the hub still has devices of a removed user with this name"
        case .noToken(let id, let name): "user '\(name)' has no token \(id)"
        case .tooManyRoles(let name): "cannot change user '\(name)': a user has at most \(Role.maximumPerAccount) roles"
        case .reserved(let name, let suffix):
            "cannot add user '\(name)': names that end with '\(suffix)' belong to users whom another party signs in"
        case .foreign(let name): "user '\(name)' has no password: another party signs the user in"
        case .tooManyForeign:
            "cannot add a user whom another party signs in: there are \(Accounts.maximumForeign) such accounts"
        }
    }
}
