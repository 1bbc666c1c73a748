import Formats
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
    /// URL of all devices, with a slash at the end.
    private let devices: String
    /// True once APNs has accepted the credential; before, it allows one stream.
    private let isProven = Atomic(false)

    init(
        _ credential: PlatformCredential,
        _ tokens: ProviderTokens,
        _ surroundings: ServiceSurroundings
    ) throws(BadCredential) {
        self.credential = try Self.check(credential, at: surroundings.now())
        self.tokens = tokens
        self.surroundings = surroundings
        var certificate: ClientCertificate?
        if case .certificate(let client, _) = self.credential.proof { certificate = client }
        channel = ServiceChannel(
            surroundings,
            connections: Self.connections,
            streams: Self.streams,
            firstRequests: 1,
            clientCertificate: certificate
        )
        devices = "\(surroundings.origin(self.credential.host))/3/device/"
    }

    /// - Throws: ``BadCredential``, also for a certificate that has expired.
    @discardableResult
    static func check(_ credential: PlatformCredential, at now: Timestamp) throws(BadCredential) -> ApnsCredential {
        let read = try ApnsCredential(credential)
        if case .certificate(_, let expiresAt) = read.proof, expiresAt <= now {
            throw BadCredential("ApnsCertificate expired on \(expiresAt.wholeSecond)", hasExpired: true)
        }
        return read
    }

    var concurrency: Int { isProven.load(ordering: .relaxed) ? Self.connections * Self.streams : 1 }

    var credentialExpiresAt: Timestamp? {
        if case .certificate(_, let expiresAt) = credential.proof { expiresAt } else { nil }
    }

    func prepare(_ message: PushMessage) throws(BadPushMessage) -> ApnsMessage {
        try ApnsMessage(message, for: credential)
    }

    /// Sends to a token that no device has: an answer about the token proves that APNs accepts the credential.
    func tryCredential() async -> PushOutcome {
        let headers = [("apns-topic", credential.bundle), ("apns-push-type", "background"), ("apns-priority", "5")]
        let body: JSONText = ["aps": ["content-available": 1]]
        let outcome = await attempt(
            ApnsRequest(device: "0", commonHeaders: headers, body: body.bytes, isOwnTopic: true)
        )
        return if case .deadHandle = outcome { .accepted(id: nil) } else { outcome }
    }

    func shutdown() async { await channel.shutdown() }

    func send(_ message: ApnsMessage, to target: PushTarget) async -> PushOutcome {
        do throws(ServiceChannel.NoAnswer) {
            return await attempt(try ApnsRequest(message, to: target))
        } catch {
            return error.outcome
        }
    }

    /// Makes the first attempts; only attempts that need a second one get a task each.
    func send(_ message: ApnsMessage, to targets: [PushTarget], report: @escaping PushReport) {
        let proof: Proof?
        do throws(ServiceChannel.NoAnswer) {
            proof = try self.proof()
        } catch {
            return report(targets.indices.map { ($0, error.outcome) })
        }
        var requests: [(place: Int, request: ApnsRequest)] = []
        var refused: [(place: Int, outcome: PushOutcome)] = []
        for (place, target) in targets.enumerated() {
            do throws(ServiceChannel.NoAnswer) {
                requests.append((place, try ApnsRequest(message, to: target)))
            } catch {
                refused.append((place, error.outcome))
            }
        }
        if !refused.isEmpty { report(refused) }
        post(requests, proof, report: report)
    }

    /// Makes the first attempts for requests with the same message.
    private func post(
        _ requests: [(place: Int, request: ApnsRequest)],
        _ proof: Proof?,
        report: @escaping PushReport
    ) {
        guard let first = requests.first?.request else { return }
        let common = ServiceChannel.request(devices, headers(proof) + first.commonHeaders, first.body)
        let targets = requests.map { OutboundTarget(path: $0.request.device, headers: $0.request.ownHeaders) }
        channel.post(common, to: targets) { results in
            var outcomes: [(place: Int, outcome: PushOutcome)] = []
            outcomes.reserveCapacity(results.count)
            for (index, result) in results {
                let (place, request) = requests[index]
                switch result {
                case .failure(let error)?: outcomes.append((place, error.outcome))
                case .success(let response)?:
                    if case .final(let outcome) = self.answer(response).verdict(isOwnTopic: request.isOwnTopic) {
                        outcomes.append((place, self.final(outcome, response)))
                    } else {
                        // Signs a new token or opens a connection.
                        Task { report([(place, await self.finish(request, response, proof?.token))]) }
                    }
                case nil: Task { report([(place, await self.resend(request, proof))]) }
                }
            }
            if !outcomes.isEmpty { report(outcomes) }
        }
    }

    /// Makes one attempt, and a second one with a new token or on a new connection if APNs did not process the first.
    private func attempt(
        _ request: ApnsRequest,
        after refused: String? = nil,
        opensConnection: Bool = false,
        isLast: Bool = false
    ) async -> PushOutcome {
        do throws(ServiceChannel.NoAnswer) {
            let proof = try proof(after: refused)
            var outbound = outbound(request, proof)
            outbound.opensConnection = opensConnection
            return await finish(request, try await channel.post(outbound), proof?.token, isLast: isLast)
        } catch {
            return error.outcome
        }
    }

    /// Repeats a request whose connection ended before the answer.
    private func resend(_ request: ApnsRequest, _ proof: Proof?) async -> PushOutcome {
        do throws(ServiceChannel.NoAnswer) {
            let response = try await channel.repost(outbound(request, proof))
            return await finish(request, response, proof?.token)
        } catch {
            return error.outcome
        }
    }

    /// Returns the outcome of an answer, after a second attempt if the answer calls for one.
    private func finish(
        _ request: ApnsRequest,
        _ response: OutboundResponse,
        _ token: String?,
        isLast: Bool = false
    ) async -> PushOutcome {
        switch answer(response).verdict(isOwnTopic: request.isOwnTopic) {
        case .final(let outcome): return final(outcome, response)
        case .renewToken:
            guard !isLast, let token, (try? proof(after: token))?.token != token else {
                isProven.store(false, ordering: .relaxed)
                let hint = response.clockDifference(surroundings.now()) ?? "is this machine's clock right?"
                return .refusedCredential("APNs: ExpiredProviderToken (\(hint))")
            }
            return await attempt(request, after: token, isLast: true)
        case .reconnect(let outcome):
            return isLast ? outcome : await attempt(request, opensConnection: true, isLast: true)
        }
    }

    private func answer(_ response: OutboundResponse) -> ApnsAnswer {
        ApnsAnswer(response, retryAfter: channel.retryAfter(response))
    }

    private func final(_ outcome: PushOutcome, _ response: OutboundResponse) -> PushOutcome {
        note(outcome)
        return withHint(outcome, response)
    }

    /// Adds the difference of the clocks to a refusal: a wrong clock makes a valid key look invalid.
    private func withHint(_ outcome: PushOutcome, _ response: OutboundResponse) -> PushOutcome {
        guard case .refusedCredential(let reason) = outcome,
            let hint = response.clockDifference(surroundings.now())
        else { return outcome }
        return .refusedCredential("\(reason) (\(hint))")
    }

    private func outbound(_ request: ApnsRequest, _ proof: Proof?) -> OutboundRequest {
        ServiceChannel.request(
            devices + request.device,
            headers(proof) + request.commonHeaders + request.ownHeaders,
            request.body
        )
    }

    private func headers(_ proof: Proof?) -> [(name: String, value: String)] {
        proof.map { [("authorization", $0.header)] } ?? []
    }

    /// A provider token and the header that contains it.
    private struct Proof {
        let token: String
        let header: String
    }

    /// Returns the provider token; `nil` for a certificate.
    private func proof(after refused: String? = nil) throws(ServiceChannel.NoAnswer) -> Proof? {
        guard case .key(let key) = credential.proof else { return nil }
        do {
            let token = try tokens.token(key, after: refused)
            return Proof(token: token, header: "bearer \(token)")
        } catch {
            throw ServiceChannel.NoAnswer(outcome: .refusedCredential("cannot sign with the key: \(error)"))
        }
    }

    private func note(_ outcome: PushOutcome) {
        switch outcome {
        case .refusedCredential: isProven.store(false, ordering: .relaxed)
        case .retry, .throttled: break
        default: isProven.store(true, ordering: .relaxed)
        }
    }
}
