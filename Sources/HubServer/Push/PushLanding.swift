import HubProtocol
import HubRouting
import HubStore
import PushServices
import Synchronization

/// Outcome of one attempt for one target, on its way to the store.
struct PushLanding: Sendable {
    enum Result: Sendable {
        case answered(PushOutcome)
        /// Nothing was sent.
        case refused(PushRefusal)
        /// Nothing was sent, and the target is still to be sent.
        case givenBack
        /// Nothing was sent, because of its host.
        case deferred(until: Timestamp, String)
    }

    let key: DeliveryKey
    let ordinal: Ordinal
    /// Number of this attempt; 0 if nothing was sent.
    var attempt = 0
    /// True if the target is stored as a retry.
    var isRetry = false
    /// The channel that the message was sent to.
    var channel: PushChannel?
    /// The host in the channel; empty if it names none.
    var host = ""
    var collapseKey: String?
    var startedAt = Timestamp.distantPast
    /// Latest start of an attempt.
    var lastChance = Timestamp.distantFuture
    var isProbe = false
    var result = Result.refused(.expired)
}

extension PushRefusal {
    static let expired = PushRefusal(outcome: .abandoned, reason: "the message has expired")
}

/// Collects outcomes until they are recorded.
final class PushLandings: Sendable {
    /// Number of outcomes that are recorded at once.
    static let many = 2_000
    static let interval = Duration.milliseconds(100)

    private let landed = Mutex<[PushLanding]>([])
    private let bell = Bell()

    func add(_ landings: [PushLanding]) {
        let count = landed.withLock { landed in
            landed += landings
            return landed.count
        }
        if count >= Self.many || landings.contains(where: \.isUrgent) { bell.ring() }
    }

    /// Waits until there are many outcomes, one is urgent, or ``interval`` has passed.
    func wait() async { await bell.wait(atMost: Self.interval) }

    func take() -> [PushLanding] {
        landed.withLock { landed in
            defer { landed = [] }
            return landed
        }
    }
}

extension PushLanding {
    /// True if the outcome stops targets that are about to be sent.
    fileprivate var isUrgent: Bool {
        guard case .answered(let outcome) = result else { return false }
        return switch outcome {
        case .refusedCredential, .throttled(.credential, _, _): true
        default: false
        }
    }
}
