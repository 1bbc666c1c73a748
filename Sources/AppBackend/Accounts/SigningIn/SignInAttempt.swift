import FairShares
import HubProtocol
import WebEdge

/// An attempt to sign in with a password.
struct SignInAttempt: Sendable {
    let user: UserName
    let network: ClientNetwork
    /// An HMAC of the password alone.
    let password: RememberedSignIns.Mark
    /// True if the user has signed in from this network or on this device before.
    let isKnown: Bool

    /// The groups in which attempts are counted together: by network, by account, and by password.
    var groups: [[ShareGroup]] {
        [network.path, [.key(user.key)], [.key(Base64URL.encode(password))]]
    }
}
