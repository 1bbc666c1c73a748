package import HubProtocol

/// What one attempt to send one message to one target came to.
///
/// Every service's reply becomes exactly one of these, and whoever sends acts on it, never on a status. A credential that
/// has merely grown stale is renewed inside the service, once, and is no outcome. Each reason is one line for people
/// that holds neither a secret nor a whole handle.
package enum PushOutcome: Sendable, Equatable {
    /// The service is responsible for the message now; `id` is its own name for it, if it gave one.
    case accepted(id: String?)
    /// The service took the message and will not deliver it, on purpose: the user blocked it, the device is offline.
    case dropped(String)
    /// The handle will never work again.
    case deadHandle(DeadHandle)
    /// The service took the message and gave a newer handle for the device.
    case replacedHandle(String)
    /// This message can never be accepted.
    case badMessage(String)
    /// The handle is good, but belongs to another app, environment or sender.
    case badRoute(String)
    /// Nothing was sent: the handle has not the form of one, or leads where the hub does not send.
    case unsendable(String)
    /// It did not work this time; `after` is the shortest wait that the service asked for.
    case retry(after: Duration?, String)
    /// A quota is used up, and everything of its scope has to wait.
    case throttled(PushScope, after: Duration?, String)
    /// The service refuses the credential, whatever is sent with it.
    case refusedCredential(String)
}

/// What a service said of a handle that will never work again.
package struct DeadHandle: Sendable, Equatable {
    /// When the service noticed; `nil` if it does not say.
    ///
    /// A handle that was registered again later is not dead.
    package let since: Timestamp?
    /// `false` for an answer that a wrong environment or project gives as well, such as APNs' `BadDeviceToken`.
    package let isCertain: Bool
    package let reason: String

    package init(since: Timestamp? = nil, isCertain: Bool = true, reason: String) {
        self.since = since
        self.isCertain = isCertain
        self.reason = reason
    }
}

/// How far a quota reaches.
package enum PushScope: Sendable, Equatable {
    /// This handle alone.
    case handle
    /// All that is sent with this credential.
    case credential
    /// All that is sent to the handle's host.
    case host
}
