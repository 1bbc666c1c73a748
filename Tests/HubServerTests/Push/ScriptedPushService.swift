import HubProtocol
import PushServices
import Synchronization

import class HubTestServer.Signal

/// A push service that answers as it is told, and remembers what it was sent.
final class ScriptedPushService: PushService, PushServiceMaker {
    struct Sent: Sendable, Equatable {
        let body: String
        let headers: [String: String]
        let target: PushTarget
    }

    /// What becomes of a target; called for each attempt.
    typealias Script = @Sendable (Sent) async -> PushOutcome

    private struct State {
        var script: Script = { _ in .accepted(id: nil) }
        var sent: [Sent] = []
        var prepared: [String] = []
        var credentials: [PlatformCredential] = []
        var lifetime = PushLifetime.unspecified
        var collapseKey: String?
        var expiry: Timestamp?
        var onShutdown: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())
    private let changes = Signal()

    let kinds: Set<PlatformCredential.Kind> = [.apns, .fcmV1, .wns, .browser]
    let standing: [PlatformCredential] = []
    let concurrency: Int

    init(concurrency: Int = 100, _ script: @escaping Script = { _ in .accepted(id: nil) }) {
        self.concurrency = concurrency
        answer(script)
    }

    func answer(_ script: @escaping Script) { state.withLock { $0.script = script } }

    func set(lifetime: PushLifetime = .unspecified, collapseKey: String? = nil) {
        state.withLock { ($0.lifetime, $0.collapseKey) = (lifetime, collapseKey) }
    }

    func set(expiry: Timestamp?) { state.withLock { $0.expiry = expiry } }

    var credentialExpiresAt: Timestamp? { state.withLock { $0.expiry } }

    var sent: [Sent] { state.withLock { $0.sent } }
    /// Bodies that were rendered, whether they were sent or not.
    var prepared: [String] { state.withLock { $0.prepared } }

    /// Returns when so many requests in all have been made.
    func sent(atLeast count: Int) async { await changes.wait { sent.count >= count } }

    /// Returns when a body has been rendered.
    func prepared(_ body: String) async { await changes.wait { prepared.contains(body) } }

    var handles: [String] { sent.map(\.target.channel.handle).sorted() }
    /// Those that services were made of.
    var credentials: [PlatformCredential] { state.withLock { $0.credentials } }

    func service(for credential: PlatformCredential) throws(BadCredential) -> any PushService {
        state.withLock { $0.credentials.append(credential) }
        return self
    }

    /// A certificate's text is the app that it is for.
    func audience(of credential: PlatformCredential) -> String? {
        credential["ApnsCertificate"].map {
            PlatformCredential.apnsAudience(team: "", bundle: $0, isSandbox: false)
        } ?? credential.audience
    }

    func prepare(_ message: PushMessage) throws(BadPushMessage) -> Prepared {
        let body = String(decoding: message.body, as: UTF8.self)
        if body.contains("bad") { throw BadPushMessage("it says 'bad'") }
        let (lifetime, collapseKey) = state.withLock { state in
            state.prepared.append(body)
            return (state.lifetime, state.collapseKey)
        }
        changes.notify()
        return Prepared(
            body: body,
            headers: message.headers.values,
            lifetime: lifetime,
            collapseKey: collapseKey
        )
    }

    func tryCredential() async -> PushOutcome { .accepted(id: nil) }

    /// Sets what ends the requests in flight.
    func onShutdown(_ end: @escaping @Sendable () -> Void) { state.withLock { $0.onShutdown = end } }

    func shutdown() async { state.withLock { $0.onShutdown }() }

    struct Prepared: PreparedPush {
        let body: String
        let headers: [String: String]
        let lifetime: PushLifetime
        let collapseKey: String?
    }

    func send(_ push: Prepared, to target: PushTarget) async -> PushOutcome {
        let sent = Sent(body: push.body, headers: push.headers, target: target)
        let script = state.withLock { state in
            state.sent.append(sent)
            return state.script
        }
        changes.notify()
        return await script(sent)
    }
}
