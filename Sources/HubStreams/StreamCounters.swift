package import Synchronization

/// Counters of a hub's streams since its start.
package final class StreamCounters: Sendable {
    /// Messages handed to streams, one for each stream.
    package let written = Atomic<Int>(0)
    /// Renderings that were too large to send.
    package let oversize = Atomic<Int>(0)
    /// Gaps that streams were sent.
    package let gaps = Atomic<Int>(0)

    package init() {}
}

extension Atomic<Int> {
    package func add(_ number: Int) { add(number, ordering: .relaxed) }

    package var count: Int { load(ordering: .relaxed) }
}
