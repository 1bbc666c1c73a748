package import Foundation
package import HubProtocol

/// One push service, used with one credential.
///
/// It keeps connections and access tokens, but no messages. It neither queues nor retries, except once after it renewed
/// a token, or if the service provably did not process the first request.
package protocol PushService: Sendable {
    associatedtype Prepared: PreparedPush

    /// Reads and checks a message once for all targets that get the same text.
    ///
    /// - Throws: ``BadPushMessage`` if the message cannot be sent to any target.
    func prepare(_ message: PushMessage) throws(BadPushMessage) -> Prepared

    /// Number of targets that may be in flight now; it changes with what the service allows.
    ///
    /// Where handles name hosts, this is the number for one host.
    var concurrency: Int { get }

    /// Makes one attempt.
    ///
    /// If the task is cancelled the outcome is `retry`, since the service may or may not have the message.
    func send(_ push: Prepared, to target: PushTarget) async -> PushOutcome

    /// Makes one attempt for each of several targets.
    func send(_ push: Prepared, to targets: [PushTarget], report: @escaping PushReport)

    /// Asks the service whether it accepts the credential, without a message to a device.
    ///
    /// Returns `accepted` if it does.
    func tryCredential() async -> PushOutcome

    /// The time at which the credential expires; `nil` if it does not expire.
    var credentialExpiresAt: Timestamp? { get }

    /// Closes all connections; requests in flight end with `retry`.
    func shutdown() async
}

extension PushService {
    package var credentialExpiresAt: Timestamp? { nil }

    package func send(_ push: Prepared, to targets: [PushTarget], report: @escaping PushReport) {
        for (place, target) in targets.enumerated() {
            Task { report([(place, await send(push, to: target))]) }
        }
    }
}

/// Gets the outcome of each target's place exactly once, and can get several at a time.
///
/// It can be called on any thread and must not block.
package typealias PushReport = @Sendable ([(place: Int, outcome: PushOutcome)]) -> Void

/// A message in the form in which a service sends it.
package protocol PreparedPush: Sendable {
    /// Time that the service may keep the message, as its headers or body say.
    var lifetime: PushLifetime { get }

    /// Key of messages of which a device shows only the latest; `nil` if there is none.
    var collapseKey: String? { get }
}

/// A prepared message, with the service that sends it.
package final class ReadyPush: Sendable {
    /// Time that the service may keep the message, as its headers or body say.
    package let lifetime: PushLifetime
    /// Key of messages of which a device shows only the latest; `nil` if there is none.
    package let collapseKey: String?

    private let sendToOne: @Sendable (PushTarget) async -> PushOutcome
    private let sendToSeveral: @Sendable ([PushTarget], @escaping PushReport) -> Void

    /// Prepares a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - service: The service that sends it.
    /// - Throws: ``BadPushMessage`` if the message cannot be sent to any target.
    package init(_ message: PushMessage, by service: some PushService) throws(BadPushMessage) {
        let push = try service.prepare(message)
        (lifetime, collapseKey) = (push.lifetime, push.collapseKey)
        sendToOne = { await service.send(push, to: $0) }
        sendToSeveral = { service.send(push, to: $0, report: $1) }
    }

    /// Makes one attempt.
    ///
    /// - Parameter target: The device.
    /// - Returns: The outcome; `retry` if the task is cancelled, since the service may or may not have the message.
    package func send(to target: PushTarget) async -> PushOutcome { await sendToOne(target) }

    /// Makes one attempt for each of several targets.
    ///
    /// - Parameters:
    ///   - targets: The devices.
    ///   - report: Gets their outcomes.
    package func send(to targets: [PushTarget], report: @escaping PushReport) { sendToSeveral(targets, report) }
}

/// A message rendered for one platform, the same for all targets with this text.
package struct PushMessage: Sendable, Equatable {
    /// ``MessageFormat/gcm`` bodies have the form of the retired interface.
    package let format: MessageFormat
    package let body: [UInt8]
    /// The template's headers, and the request's where the template has none; the push service's names in lower case.
    package let headers: ForwardedHeaders
    /// The time at which the hub accepted the message; a relative time to live counts from it.
    package let acceptedAt: Timestamp

    package init(format: MessageFormat, body: [UInt8], headers: ForwardedHeaders = .none, acceptedAt: Timestamp) {
        self.format = format
        self.body = body
        self.headers = headers
        self.acceptedAt = acceptedAt
    }
}

/// A device to which a message is sent.
package struct PushTarget: Sendable, Equatable {
    package let channel: PushChannel
    /// An id that is the same for each attempt to send this message to this target (RFC 9562 §5.5), so that a service
    /// delivers a repeat only once.
    package let id: UUID
    /// The time at which the service may drop the message; `nil` for the service's own maximum.
    package let expiresAt: Timestamp?

    package init(channel: PushChannel, id: UUID, expiresAt: Timestamp? = nil) {
        self.channel = channel
        self.id = id
        self.expiresAt = expiresAt
    }

    /// The id of the VAPID key that the browser subscribed with, if the hub noted it.
    var senderKeyID: String? {
        if case .browser(let browser) = channel { browser.senderKeyID } else { nil }
    }
}

/// Time that a service may keep a message for a device that is offline.
package enum PushLifetime: Sendable, Equatable {
    /// The message does not say.
    case unspecified
    /// No storage: zero on every service.
    case once
    case until(Timestamp)

    /// Creates the lifetime of a message with a time to live from `start` on; `nil` if it has none.
    init(seconds: Int64?, from start: Timestamp) {
        self =
            switch seconds {
            case nil: .unspecified
            case 0: .once
            case let seconds?: .until(start + .seconds(seconds))
            }
    }
}

/// The reason why a message cannot be sent to any target.
package struct BadPushMessage: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    package let isTooLarge: Bool

    package init(_ reason: String, isTooLarge: Bool = false) {
        description = reason
        self.isTooLarge = isTooLarge
    }
}
