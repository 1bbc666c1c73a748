import HubProtocol
import Synchronization

/// What a hub counts from its start on, for ``MetricsPage``.
final class HubCounters: Sendable {
    /// Messages that became durable.
    let accepted = Atomic<Int>(0)
    /// Installations that accepted messages matched, by platform.
    let matched = Mutex<[String: Int]>([:])
    /// Sends that were answered as the first one of their key.
    let repeated = Atomic<Int>(0)
    /// Messages handed to streams, one for each stream.
    let written = Atomic<Int>(0)
    /// Renderings that were too large to send.
    let oversize = Atomic<Int>(0)
    /// Gaps that streams were told of.
    let gaps = Atomic<Int>(0)

    func accept(_ counts: RecipientCounts) {
        accepted.add(1)
        matched.withLock { $0.merge(counts.platforms, uniquingKeysWith: +) }
    }
}

extension Atomic<Int> {
    func add(_ number: Int) { add(number, ordering: .relaxed) }

    var count: Int { load(ordering: .relaxed) }
}
