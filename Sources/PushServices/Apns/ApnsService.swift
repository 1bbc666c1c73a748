import Foundation
import HubProtocol
import OutboundHTTP
import Synchronization

/// Apple Push Notification service, used with one key or certificate.
///
/// Source: Apple, "Setting up a remote notification server".
final class ApnsService: PushService {
    private static let connections = 4
    /// Requests at the same time on one connection; APNs allows about 1,000.
    private static let streams = 500

    private let credential: ApnsCredential
    private let tokens: ProviderTokens
    private let surroundings: ServiceSurroundings
    private let channel: ServiceChannel
    /// True once APNs has accepted the credential; before, it allows one stream.
    private let isProven = Atomic(false)

    init(
        _ credential: PlatformCredential,
        _ tokens: ProviderTokens,
        _ surroundings: ServiceSurroundings
    ) throws(BadCredential) {
        self.credential = try ApnsCredential(credential)
        self.tokens = tokens
        self.surroundings = surroundings
        var certificate: ClientCertificate?
        if case .certificate(let client, let expiresAt) = self.credential.proof {
            guard expiresAt > surroundings.now() else {
                throw BadCredential("ApnsCertificate has expired on \(expiresAt.wholeSecond)")
            }
            certificate = client
        }
        channel = ServiceChannel(
            surroundings,
            connections: Self.connections,
            streams: Self.streams,
            firstRequests: 1,
            clientCertificate: certificate
        )
    }

    var concurrency: Int { isProven.load(ordering: .relaxed) ? Self.connections * Self.streams : 1 }

    var credentialExpiresAt: Timestamp? {
        if case .certificate(_, let expiresAt) = credential.proof { expiresAt } else { nil }
    }

    func prepare(_ message: PushMessage) throws(BadPushMessage) -> any PreparedPush {
        ApnsPush(message: try ApnsMessage(message, for: credential), service: self)
    }

    /// Sends to a token that no device has: an answer about the token proves that APNs accepts the credential.
    func tryCredential() async -> PushOutcome {
        let headers = [("apns-topic", credential.bundle), ("apns-push-type", "background"), ("apns-priority", "5")]
        let body = Array(#"{"aps":{"content-available":1}}"#.utf8)
        let outcome = await send("0", headers, body, isOwnTopic: true)
        return if case .deadHandle = outcome { .accepted(id: nil) } else { outcome }
    }

    func shutdown() async { await channel.shutdown() }

    /// Makes one attempt, and a second one with a new token or on a new connection if APNs did not process the first.
    func send(
        _ device: String,
        _ headers: [(name: String, value: String)],
        _ body: [UInt8],
        isOwnTopic: Bool
    ) async -> PushOutcome {
        var refused: String?
        var opensConnection = false
        for isLast in [false, true] {
            let proof: String?
            do {
                proof = try token(after: refused)
            } catch {
                return .refusedCredential("cannot sign with the key: \(error)")
            }
            let response: OutboundResponse
            do {
                response = try await channel.post(
                    "\(surroundings.origin(credential.host))/3/device/\(device)",
                    (proof.map { [("authorization", "bearer \($0)")] } ?? []) + headers,
                    body,
                    opensConnection: opensConnection
                )
            } catch {
                return error.outcome
            }
            switch ApnsAnswer(response, retryAfter: channel.retryAfter(response)).verdict(isOwnTopic: isOwnTopic) {
            case .final(let outcome):
                note(outcome)
                return withHint(outcome, response)
            case .renewToken:
                guard !isLast, let proof, (try? token(after: proof)) != proof else {
                    isProven.store(false, ordering: .relaxed)
                    let hint = response.clockDifference(surroundings.now()) ?? "is this machine's clock right?"
                    return .refusedCredential("APNs: ExpiredProviderToken (\(hint))")
                }
                refused = proof
            case .reconnect(let outcome):
                guard !isLast else { return outcome }
                opensConnection = true
            }
        }
        return .retry(after: nil, "APNs gave no answer")
    }

    /// Adds the difference of the clocks to a refusal: a wrong clock makes a valid key look invalid.
    private func withHint(_ outcome: PushOutcome, _ response: OutboundResponse) -> PushOutcome {
        guard case .refusedCredential(let reason) = outcome,
            let hint = response.clockDifference(surroundings.now())
        else { return outcome }
        return .refusedCredential("\(reason) (\(hint))")
    }

    /// Returns the provider token; `nil` for a certificate.
    private func token(after refused: String?) throws -> String? {
        guard case .key(let key) = credential.proof else { return nil }
        return try tokens.token(key, after: refused)
    }

    private func note(_ outcome: PushOutcome) {
        switch outcome {
        case .refusedCredential: isProven.store(false, ordering: .relaxed)
        case .retry, .throttled: break
        default: isProven.store(true, ordering: .relaxed)
        }
    }
}

/// A message for Apple's devices, checked and ready.
struct ApnsPush: PreparedPush {
    let message: ApnsMessage
    let service: ApnsService

    var lifetime: PushLifetime { message.lifetime }
    var collapseKey: String? { message.collapseKey }

    func send(to target: PushTarget) async -> PushOutcome {
        guard case .handle(let handle) = target.channel else {
            return .unsendable("a browser's subscription is not a device token")
        }
        let token = handle.lowercased()
        guard (2...200).contains(token.utf8.count), token.utf8.count.isMultiple(of: 2),
            token.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else {
            return .unsendable("the handle is not a device token: 2 to 200 hexadecimal digits")
        }
        var headers = message.headers
        headers.append(("apns-id", target.id.uuidString.lowercased()))
        switch (message.lifetime, target.expiresAt) {
        case (.once, _): headers.append(("apns-expiration", "0"))
        case (_, let end?): headers.append(("apns-expiration", "\(max(end.seconds, 1))"))
        case (_, nil): break
        }
        return await service.send(token, headers, message.body, isOwnTopic: message.isOwnTopic)
    }
}
