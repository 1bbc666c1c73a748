import Synchronization

/// What a hub counts from its start on, for ``MetricsPage``.
final class HubCounters: Sendable {
    /// Messages that became durable.
    let accepted = Atomic<Int>(0)
    /// Sends that were answered as the first one of their key.
    let repeated = Atomic<Int>(0)
    /// Messages handed to streams, one for each stream.
    let written = Atomic<Int>(0)
    /// Renderings that were too large to send.
    let oversize = Atomic<Int>(0)
    /// Gaps that streams were told of.
    let gaps = Atomic<Int>(0)
}

extension Atomic<Int> {
    func add(_ number: Int) { add(number, ordering: .relaxed) }

    var count: Int { load(ordering: .relaxed) }
}
