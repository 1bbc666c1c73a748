import Foundation
import HubProtocol

/// A message for Apple's devices, checked and ready.
struct ApnsPush: PreparedPush {
    let message: ApnsMessage
    let service: ApnsService

    var lifetime: PushLifetime { message.lifetime }
    var collapseKey: String? { message.collapseKey }

    func send(to target: PushTarget) async -> PushOutcome {
        do throws(ServiceChannel.NoAnswer) {
            return await service.send(try ApnsRequest(message, to: target))
        } catch {
            return error.outcome
        }
    }
}

/// A message for one device token.
struct ApnsRequest: Sendable {
    /// The device token in lower case.
    let device: String
    let headers: [(name: String, value: String)]
    let body: [UInt8]
    /// True if the topic is the bundle id.
    let isOwnTopic: Bool

    init(device: String, headers: [(name: String, value: String)], body: [UInt8], isOwnTopic: Bool) {
        self.device = device
        self.headers = headers
        self.body = body
        self.isOwnTopic = isOwnTopic
    }

    /// - Throws: The outcome of a message that cannot be sent to the target.
    init(_ message: ApnsMessage, to target: PushTarget) throws(ServiceChannel.NoAnswer) {
        guard case .handle(let handle) = target.channel else {
            throw Self.unsendable("a browser's subscription is not a device token")
        }
        let token = handle.lowercased()
        guard (2...200).contains(token.utf8.count), token.utf8.count.isMultiple(of: 2),
            token.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else {
            throw Self.unsendable("the handle is not a device token: 2 to 200 hexadecimal digits")
        }
        var headers = message.headers
        headers.append(("apns-id", target.id.uuidString.lowercased()))
        switch (message.lifetime, target.expiresAt) {
        case (.once, _): headers.append(("apns-expiration", "0"))
        case (_, let end?): headers.append(("apns-expiration", "\(max(end.seconds, 1))"))
        case (_, nil): break
        }
        self.init(device: token, headers: headers, body: message.body, isOwnTopic: message.isOwnTopic)
    }

    /// - Throws: The outcome of a message that cannot be sent to the target.
    init(_ attempt: PushAttempt) throws(ServiceChannel.NoAnswer) {
        guard let push = attempt.push as? ApnsPush else { throw Self.unsendable("the message is not for APNs") }
        try self.init(push.message, to: attempt.target)
    }

    private static func unsendable(_ reason: String) -> ServiceChannel.NoAnswer {
        ServiceChannel.NoAnswer(outcome: .unsendable(reason))
    }
}
