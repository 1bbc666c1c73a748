import HubProtocol
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

    func accept(_ counts: RecipientCounts) {
        accepted.add(1)
        matched.withLock { $0.merge(counts.platforms, uniquingKeysWith: +) }
    }
}
