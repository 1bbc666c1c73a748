import HubProtocol
import HubRouting
import HubStore
import PushServices
import Signals
import Synchronization

/// An attempt for one target, whose outcome is on its way to the store.
///
/// A class, since it is passed on several times.
final class PushLanding: Sendable {
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

    let key: DeliveryKey
    let ordinal: Ordinal
    /// Number of this attempt; 0 if nothing was sent.
    let attempt: Int
    /// True if the target is stored as a retry.
    let isRetry: Bool
    /// The channel that the message was sent to.
    let channel: PushChannel?
    /// The host in the channel; empty if it names none.
    let host: String
    let collapseKey: String?
    let startedAt: Timestamp
    /// Latest start of an attempt.
    let lastChance: Timestamp
    /// True if the attempt finds out whether the service accepts the credential again.
    let isProbe: Bool
    /// True if the attempt finds out whether its host, which is paused, has recovered.
    let isHostProbe: Bool

    init(
        key: DeliveryKey,
        ordinal: Ordinal,
        attempt: Int = 0,
        isRetry: Bool = false,
        channel: PushChannel? = nil,
        host: String = "",
        collapseKey: String? = nil,
        startedAt: Timestamp = .distantPast,
        lastChance: Timestamp = .distantFuture,
        isProbe: Bool = false,
        isHostProbe: Bool = false
    ) {
        self.key = key
        self.ordinal = ordinal
        self.attempt = attempt
        self.isRetry = isRetry
        self.channel = channel
        self.host = host
        self.collapseKey = collapseKey
        self.startedAt = startedAt
        self.lastChance = lastChance
        self.isProbe = isProbe
        self.isHostProbe = isHostProbe
    }
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

    private let landed = Mutex<[Landed]>([])
    private let wakeUp = AsyncSignal()

    func add(_ some: [Landed]) {
        let count = landed.withLock { landed in
            landed += some
            return landed.count
        }
        if count >= Self.many || some.contains(where: \.result.isUrgent) { wakeUp.signal() }
    }

    /// Waits until there are many outcomes, one is urgent, or ``interval`` has passed.
    func wait() async { await wakeUp.wait(atMost: Self.interval) }

    func take() -> [Landed] {
        landed.withLock { landed in
            defer { landed = [] }
            return landed
        }
    }
}

extension PushLanding.Result {
    /// True if the outcome stops targets that are about to be sent.
    fileprivate var isUrgent: Bool {
        guard case .answered(let outcome) = self else { return false }
        return switch outcome {
        case .refusedCredential, .refusedSender, .throttled(.credential, _, _): true
        default: false
        }
    }
}
