import HubProtocol
import HubStore
import HubStreams
import Synchronization

/// The counters of a hub since its start, for ``MetricsPage``.
final class HubCounters: Sendable {
    /// Number of messages that became durable.
    let accepted = Atomic<Int>(0)
    /// Number of installations that accepted messages matched, by platform.
    let matched = Mutex<[String: Int]>([:])
    /// Number of repeated sends, which got the response to the first send with their key.
    let repeated = Atomic<Int>(0)
    let streams = StreamCounters()
    let push = PushCounters()
    let times = DeliveryTimes()

    func accept(_ counts: RecipientCounts) {
        accepted.add(1)
        matched.withLock { $0.merge(counts.platforms, uniquingKeysWith: +) }
    }
}

/// Counts the final outcomes of targets on push services, by platform and outcome.
final class PushCounters: Sendable {
    struct Outcome: Hashable, Sendable {
        let platform: Platform
        let outcome: OutcomeName
    }

    private let counts = Mutex<[Outcome: Int]>([:])

    /// Outcomes that occurred at least once.
    var all: [Outcome: Int] { counts.withLock { $0 } }

    func add(_ counts: [Outcome: Int]) {
        self.counts.withLock { $0.merge(counts, uniquingKeysWith: +) }
    }
}

extension [PushCounters.Outcome: Int] {
    mutating func add(_ count: Int, _ outcome: OutcomeName, _ platform: Platform) {
        guard count > 0 else { return }
        self[PushCounters.Outcome(platform: platform, outcome: outcome), default: 0] += count
    }

    /// Adds the outcomes of a delivery; `ended` is the number of targets that the store counted.
    ///
    /// The store counts none if the delivery had ended before, and more than `progress` contains if a later message
    /// replaced retries of earlier ones.
    mutating func add(_ progress: DeliveryProgress, ended: Int, _ platform: Platform) {
        guard ended > 0 else { return }
        for outcome in progress.done.values { add(1, outcome, platform) }
        add(ended - progress.done.count, .skipped, platform)
    }
}
