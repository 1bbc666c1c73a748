import Crypto
import Foundation
import HubProtocol
import NetworkAddresses
import OutboundHTTP
import WebTokens

/// Browsers' push services, used with one sender's keys.
///
/// Source: RFC 8030, RFC 8291, RFC 8292.
struct WebPushService: PushService {
    /// Connections to one host; over HTTP/2 each carries many messages.
    private static let connections = 4

    private let keys: VapidKeys
    private let tokens: VapidTokens
    private let isDeclarative: Bool
    private let rules: PushEndpointRules
    private let channel: ServiceChannel
    private let now: @Sendable () -> Timestamp

    init(_ credential: PlatformCredential, _ surroundings: ServiceSurroundings) throws(BadCredential) {
        let subject: String
        (subject, keys, isDeclarative) = try Self.check(credential)
        tokens = VapidTokens(subject: subject)
        rules = PushEndpointRules(surroundings)
        // Devices choose the hosts. A proxy would resolve their names itself, and nobody would check the addresses.
        channel = ServiceChannel(surroundings, connections: Self.connections, isDirect: true)
        now = surroundings.now
    }

    /// - Throws: ``BadCredential``.
    @discardableResult
    static func check(
        _ credential: PlatformCredential
    ) throws(BadCredential) -> (subject: String, keys: VapidKeys, isDeclarative: Bool) {
        let subject = try Self.subject(credential["Subject"] ?? "")
        let keys = try VapidKeys(credential)
        switch credential["Declarative"]?.lowercased() {
        case "true": return (subject, keys, true)
        case nil, "", "false": return (subject, keys, false)
        default: throw BadCredential("Declarative is not true or false")
        }
    }

    private static func subject(_ text: String) throws(BadCredential) -> String {
        do throws(SenderContact.Problem) {
            return try SenderContact(uri: text).uri
        } catch {
            throw BadCredential("Subject is \(error.reason)")
        }
    }

    let concurrency = 200

    func prepare(_ message: PushMessage) throws(BadPushMessage) -> PreparedWebPush {
        try PreparedWebPush(message, isDeclarative: isDeclarative)
    }

    /// Checks that the key signs; there is no service to ask, since each browser names its own.
    func tryCredential() async -> PushOutcome {
        let key = keys.current
        guard let token = try? tokens.sign(for: "https://push.example.org", key, now: now()),
            let read = try? SignedToken(token, algorithms: [.es256]), read.isSigned(by: .p256(key.privateKey.publicKey))
        else { return .refusedCredential("cannot sign with VapidPrivateKey") }
        return .accepted(id: nil)
    }

    func shutdown() async { await channel.shutdown() }

    func send(_ push: PreparedWebPush, to target: PushTarget) async -> PushOutcome {
        guard case .browser(let browser) = target.channel else {
            return .unsendable("the handle is not a browser's subscription")
        }
        do {
            let destination = try rules.destination(browser.endpoint)
            let body = try Self.body(push, browser)
            return try await send(push, body, to: destination, target)
        } catch let error as PushEndpointRules.Refusal {
            return error.outcome
        } catch let error as ServiceChannel.NoAnswer {
            return error.outcome
        } catch let error as BrowserReceiver.BadKey {
            return .unsendable("the subscription cannot be used: \(error.reason)")
        } catch {
            return .retry(after: nil, "the message could not be encrypted or signed")
        }
    }

    private static func body(_ push: PreparedWebPush, _ browser: BrowserPushChannel) throws -> [UInt8] {
        let receiver = try BrowserReceiver(browser)
        return push.plaintext.isEmpty ? [] : try WebPushContent.encrypt(push.plaintext, for: receiver)
    }

    /// Tries the key that the browser should know, then others: a service does not say which key it expects.
    private func send(
        _ push: PreparedWebPush,
        _ body: [UInt8],
        to destination: PushEndpointRules.Destination,
        _ target: PushTarget
    ) async throws -> PushOutcome {
        let origin = destination.endpoint.origin
        var senderRefusal: WebPushReply?
        var keyRefusal: WebPushReply?
        for key in keys.candidates(target.senderKeyID) {
            let token = try tokens.token(for: origin, key, now: now())
            var reply = try await post(push, body, to: destination, target, token, key)
            if reply.refusesSender,
                let renewed = try tokens.token(after: token, for: origin, key, now: now())
            {
                reply = try await post(push, body, to: destination, target, renewed, key)
            }
            if reply.refusesKey {
                keyRefusal = reply
            } else if reply.refusesSender {
                senderRefusal = senderRefusal ?? reply
                if reply.isCertain { break }
            } else {
                return reply.outcome
            }
        }
        if let senderRefusal { return .refusedSender(senderRefusal.text) }
        return .badRoute("the subscription was made with another VAPID key: \(keyRefusal?.text ?? "none is left")")
    }

    /// Edge's service refuses a message without storage, unless its cache policy says the same.
    ///
    /// Source: Microsoft, "Push Notification Service request and response headers".
    private static func cachePolicy(
        _ push: PreparedWebPush,
        _ endpoint: PushEndpoint,
        timeToLive: String
    ) -> [(String, String)] {
        guard case .name(let host) = endpoint.host, host.hasSuffix(".notify.windows.com") else { return [] }
        let policy = push.cachePolicy ?? (timeToLive == "0" ? "no-cache" : nil)
        return policy.map { [("X-WNS-Cache-Policy", $0)] } ?? []
    }

    private func post(
        _ push: PreparedWebPush,
        _ body: [UInt8],
        to destination: PushEndpointRules.Destination,
        _ target: PushTarget,
        _ token: String,
        _ key: VapidKey
    ) async throws(ServiceChannel.NoAnswer) -> WebPushReply {
        var headers = [
            ("TTL", "\(push.timeToLive(target, now: now()))"), ("Topic", push.topic(target)),
            ("Authorization", "vapid t=\(token), k=\(key.publicText)"),
        ]
        // Apple delays less urgent messages, and browsers allow visible ones only.
        if let urgency = push.urgency ?? (destination.isApple ? "high" : nil) { headers.append(("Urgency", urgency)) }
        headers += Self.cachePolicy(push, destination.endpoint, timeToLive: headers[0].1)
        if !body.isEmpty {
            headers += [("Content-Encoding", "aes128gcm"), ("Content-Type", "application/octet-stream")]
        }
        let response = try await channel.post(
            destination.endpoint.url,
            headers.map { (name: $0.0, value: $0.1) },
            body,
            addresses: destination.addresses
        )
        return WebPushReply(
            response,
            from: destination.endpoint,
            retryAfter: channel.retryAfter(response),
            now: now()
        )
    }
}
