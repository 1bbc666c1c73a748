import HubProtocol
import HubRouting
import HubStore
import PushServices
import Synchronization

/// What became of one target, on its way to the store.
struct PushLanding: Sendable {
    enum Result: Sendable {
        case answered(PushOutcome)
        /// Nothing was sent.
        case refused(PushRefusal)
        /// Nothing was sent, and nothing is said of the target.
        case givenBack
        /// Nothing was sent, because of its host.
        case deferred(until: Timestamp, String)
    }

    let key: DeliveryKey
    let ordinal: Ordinal
    /// The number of this attempt; 0 where nothing was sent.
    var attempt = 0
    /// It stands in the store among those that are tried again.
    var isRetry = false
    /// What it was sent to.
    var channel: PushChannel?
    /// The host that the channel names; empty where it names none.
    var host = ""
    var collapseKey: String?
    var startedAt = Timestamp.distantPast
    /// No attempt begins after this.
    var lastChance = Timestamp.distantFuture
    var isProbe = false
    var result = Result.refused(.expired)
}

extension PushRefusal {
    static let expired = PushRefusal(outcome: .abandoned, reason: "the message has expired")
}

/// Collects what has become of targets until it is written down.
final class PushLandings: Sendable {
    /// So many are written down at once.
    static let many = 2_000
    static let interval = Duration.milliseconds(100)

    private let landed = Mutex<[PushLanding]>([])
    private let bell = Bell()

    func add(_ landing: PushLanding) {
        let count = landed.withLock { landed in
            landed.append(landing)
            return landed.count
        }
        if count >= Self.many || landing.isUrgent { bell.ring() }
    }

    /// Waits until there are many, one is urgent, or some time has passed.
    func wait() async { await bell.wait(atMost: Self.interval) }

    func take() -> [PushLanding] {
        landed.withLock { landed in
            defer { landed = [] }
            return landed
        }
    }
}

extension PushLanding {
    /// It concerns targets that are about to be sent something.
    fileprivate var isUrgent: Bool {
        guard case .answered(let outcome) = result else { return false }
        return switch outcome {
        case .refusedCredential, .throttled(.credential, _, _): true
        default: false
        }
    }
}
