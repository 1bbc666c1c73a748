package import Foundation
package import HubProtocol

/// One push service, spoken to with one credential.
///
/// A service keeps connections and access tokens, and no messages: it neither queues nor repeats, but for one attempt
/// more after it renewed a token, or where the service provably did not look at the first.
package protocol PushService: Sendable {
    /// Reads and checks a message once for all targets that get the same text.
    ///
    /// - Throws: ``BadPushMessage`` if no target can ever be sent it.
    func prepare(_ message: PushMessage) throws(BadPushMessage) -> any PreparedPush

    /// Number of targets that may be in flight now; it changes with what the service allows.
    ///
    /// Where handles name hosts, this is the number for one host.
    var concurrency: Int { get }

    /// Asks the service whether it takes the credential, without a message to a device.
    ///
    /// `accepted` if it does.
    func tryCredential() async -> PushOutcome

    /// When the credential stops to be good; `nil` for one that does not expire.
    var credentialExpiresAt: Timestamp? { get }

    /// Ends connections; what is in flight ends with `retry`.
    func shutdown() async
}

extension PushService {
    package var credentialExpiresAt: Timestamp? { nil }
}

/// A message that a service can send, as it goes to each target.
package protocol PreparedPush: Sendable {
    /// How long the service may keep the message, by its own headers or body.
    var lifetime: PushLifetime { get }

    /// Of two messages with the same key the service shows a device the later one only; `nil` for none.
    var collapseKey: String? { get }

    /// Makes one attempt.
    ///
    /// Cancelling the task ends it with `retry`: nobody knows whether the service has the message.
    func send(to target: PushTarget) async -> PushOutcome
}

/// A message as rendered for one platform, the same for all targets with this text.
package struct PushMessage: Sendable, Equatable {
    /// ``MessageFormat/gcm`` bodies are legacy ones.
    package let format: MessageFormat
    package let body: [UInt8]
    /// The template's where it has them, else the request's; names are those of the push service, in lower case.
    package let headers: ForwardedHeaders
    /// When the hub took the message; a relative time to live counts from here.
    package let acceptedAt: Timestamp

    package init(format: MessageFormat, body: [UInt8], headers: ForwardedHeaders = .none, acceptedAt: Timestamp) {
        self.format = format
        self.body = body
        self.headers = headers
        self.acceptedAt = acceptedAt
    }
}

/// One device that a message is sent to.
package struct PushTarget: Sendable, Equatable {
    package let channel: PushChannel
    /// The same for each attempt to send this message to this target (RFC 9562 §5.5), so that a service that is asked
    /// twice delivers once.
    package let id: UUID
    /// The service need not try any longer; `nil` leaves that to the service, and its own longest time.
    package let expiresAt: Timestamp?

    package init(channel: PushChannel, id: UUID, expiresAt: Timestamp? = nil) {
        self.channel = channel
        self.id = id
        self.expiresAt = expiresAt
    }

    /// The VAPID key that the browser has subscribed with, if that was noted.
    var senderKeyID: String? {
        if case .browser(let browser) = channel { browser.senderKeyID } else { nil }
    }
}

/// How long a service may keep a message for a device that is away.
package enum PushLifetime: Sendable, Equatable {
    /// The message does not say.
    case unspecified
    /// Now or never: zero on every service.
    case once
    case until(Timestamp)
}

/// Why a message can be sent to nobody.
package struct BadPushMessage: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    package let isTooLarge: Bool

    package init(_ reason: String, isTooLarge: Bool = false) {
        description = reason
        self.isTooLarge = isTooLarge
    }
}
