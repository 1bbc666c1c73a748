import HubProtocol
import HubRouting
import HubStore
import PushServices
import Signals
import Synchronization

/// An attempt for one target, whose outcome is on its way to the store.
struct PushLanding: Sendable {
    enum Result: Sendable {
        case answered(PushOutcome)
        /// Nothing was sent.
        case refused(PushRefusal)
        /// Nothing was sent, and the target is still to be sent.
        case givenBack
        /// Nothing was sent, because of its host.
        case deferred(Deferral)
    }

    /// The reason why a target waits in the store.
    enum Deferral: Sendable {
        /// Its host is paused; the target goes out as soon as the host is not.
        case paused(String)
        /// Its host answers slowly, or has asked for a pause.
        case waits(until: Timestamp, String)
    }

    let targetKey: DeliveryLane.TargetKey
    /// `nil` if the target was refused before a message was rendered for it.
    var target: PreparedTarget?
    /// Number of this attempt; 0 if nothing was sent.
    var attempt = 0
    /// `distantPast` if the target was refused before an attempt.
    var startedAt = Timestamp.distantPast
    /// True if the attempt finds out whether the service accepts the credential again.
    var isProbe = false
    /// True if the attempt finds out whether its host, which is paused, has recovered.
    var isHostProbe = false

    var key: DeliveryKey { targetKey.key }
    var ordinal: Ordinal { targetKey.ordinal }
    /// True if the target is stored as a retry.
    var isRetry: Bool { target?.attempts != nil }
    /// The channel that the message was sent to.
    var channel: PushChannel? { target?.pushTarget.channel }
    /// The host in the channel; empty if it names none.
    var host: String { target?.host ?? "" }
    var collapseKey: String? { target?.push.collapseKey }
    /// Latest start of an attempt.
    var lastChance: Timestamp { target?.lastChance ?? .distantFuture }
}

extension PushRefusal {
    static let expired = PushRefusal(outcome: .abandoned, reason: "the message has expired")
}

/// Collects outcomes until they are recorded.
final class OutcomeBuffer: Sendable {
    /// Number of outcomes that are recorded at once.
    static let many = 2_000
    static let interval = Duration.milliseconds(100)

    typealias Landed = (landing: PushLanding, result: PushLanding.Result)

    private struct State {
        var landed: [Landed] = []
        var hasUrgent = false
    }

    private let state = Mutex(State())
    private let wakeUp = AsyncSignal()

    /// True if an outcome waits that stops targets which are about to be sent.
    var hasUrgent: Bool { state.withLock(\.hasUrgent) }

    func add(_ some: [Landed]) {
        let isUrgent = some.contains(where: \.result.isUrgent)
        let isDue = state.withLock { state in
            state.landed += some
            if isUrgent { state.hasUrgent = true }
            return state.hasUrgent || state.landed.count >= Self.many
        }
        if isDue { wakeUp.signal() }
    }

    /// Waits until there are many outcomes, one is urgent, or ``interval`` has passed.
    func wait() async { await wakeUp.wait(atMost: Self.interval) }

    func take() -> [Landed] {
        state.withLock { state in
            defer { state = State() }
            return state.landed
        }
    }
}

extension PushLanding.Result {
    /// True if the outcome stops targets that are about to be sent.
    fileprivate var isUrgent: Bool {
        guard case .answered(let outcome) = self else { return false }
        return switch outcome {
        case .refusedCredential, .refusedSender, .throttled(.credential, _, _), .throttled(.host, _, _): true
        default: false
        }
    }
}
