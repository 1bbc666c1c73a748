package import HubProtocol

/// Outcome of one attempt to send one message to one target.
///
/// Every service's reply becomes exactly one of these, and the sender acts on the outcome, never on a status. The
/// service itself renews a token that has expired, once; that is not an outcome. Each reason is one line for people and
/// contains neither a secret nor a whole handle.
package enum PushOutcome: Sendable, Equatable {
    /// The service has accepted the message; `id` is the service's own id for it, if it gave one.
    case accepted(id: String?)
    /// The service accepted the message and says that it will not deliver it: the user blocked it, or the device is
    /// offline.
    case dropped(String)
    /// The handle will never work again.
    case deadHandle(DeadHandle)
    /// The service accepted the message and returned a newer handle for the device.
    case replacedHandle(String)
    /// This message can never be accepted.
    case badMessage(String)
    /// The message is larger than the service accepts.
    case tooLarge(String)
    /// The handle is valid, but belongs to another app, environment or sender.
    case badRoute(String)
    /// Nothing was sent: the handle is malformed, or its address is not one to which the hub sends.
    case unsendable(String)
    /// A temporary failure; `after` is the shortest wait that the service asked for.
    case retry(after: Duration?, String)
    /// A quota is used up; everything in its scope has to wait.
    case throttled(PushScope, after: Duration?, String)
    /// The handle's host refuses the sender's key or contact; other hosts may accept them.
    case refusedSender(String)
    /// The service refuses the credential, whatever is sent with it.
    case refusedCredential(String)
}

/// A service's statement that a handle will never work again.
package struct DeadHandle: Sendable, Equatable {
    /// The time at which the service noticed; `nil` if it does not say.
    ///
    /// A handle that was registered again after this time is not dead.
    package let since: Timestamp?
    /// False for an answer that a wrong environment or project also gives, such as APNs' `BadDeviceToken`.
    package let isCertain: Bool
    package let reason: String

    package init(since: Timestamp? = nil, isCertain: Bool = true, reason: String) {
        self.since = since
        self.isCertain = isCertain
        self.reason = reason
    }
}

/// Scope of a quota.
package enum PushScope: Sendable, Equatable {
    /// This handle alone.
    case handle
    /// Everything that is sent with this credential.
    case credential
    /// Everything that is sent to the handle's host.
    case host
}
