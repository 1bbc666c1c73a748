import HubProtocol
import HubStore
import HubStreams
import Synchronization

/// What a hub counts from its start on, for ``MetricsPage``.
final class HubCounters: Sendable {
    /// Messages that became durable.
    let accepted = Atomic<Int>(0)
    /// Installations that accepted messages matched, by platform.
    let matched = Mutex<[String: Int]>([:])
    /// Sends that were answered as the first one of their key.
    let repeated = Atomic<Int>(0)
    let streams = StreamCounters()
    let push = PushCounters()

    func accept(_ counts: RecipientCounts) {
        accepted.add(1)
        matched.withLock { $0.merge(counts.platforms, uniquingKeysWith: +) }
    }
}

/// What became of targets of push services, by platform and outcome.
final class PushCounters: Sendable {
    struct Outcome: Hashable {
        /// In lower case.
        let platform: String
        let outcome: OutcomeName
    }

    private let counts = Mutex<[Outcome: Int]>([:])

    var all: [Outcome: Int] { counts.withLock { $0 } }

    func add(_ count: Int, _ outcome: OutcomeName, _ platform: String) {
        guard count > 0 else { return }
        counts.withLock { $0[Outcome(platform: platform, outcome: outcome), default: 0] += count }
    }

    func add(_ progress: [DeliveryKey: DeliveryProgress], _ platform: String) {
        counts.withLock { counts in
            for outcome in progress.values.lazy.flatMap(\.done.values) {
                counts[Outcome(platform: platform, outcome: outcome), default: 0] += 1
            }
        }
    }
}
