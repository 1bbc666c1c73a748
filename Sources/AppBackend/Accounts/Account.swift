package import HubProtocol

/// A person who can sign in.
package struct Account: Sendable, Equatable {
    let id: Int64
    /// Changes with the password.
    let version: Int64
    package let name: UserName
    /// May notify users other than themselves.
    package let mayNotifyOthers: Bool
    package let createdAt: Timestamp
    /// When the password was last set.
    package let passwordAt: Timestamp

    var caller: Caller { Caller(name: name, mayNotifyOthers: mayNotifyOthers) }
}

/// Why an account cannot be made or changed.
package enum AccountError: Error, Equatable, CustomStringConvertible {
    case unknown(UserName)
    case taken(UserName)
    /// The name of an account that was removed not long ago.
    case retained(UserName, until: Timestamp)
    case noToken(Int64, of: UserName)

    package var description: String {
        switch self {
        case .unknown(let name): "there is no user '\(name)'"
        case .taken(let name): "cannot add user '\(name)': the name is taken"
        case .retained(let name, let end):
            "cannot add user '\(name)': the name of a removed user stays taken until \(end.wholeSecond)"
        case .noToken(let id, let name): "user '\(name)' has no token \(id)"
        }
    }
}
