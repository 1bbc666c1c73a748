package import Synchronization

/// Counters of a hub's streams since its start.
package final class StreamCounters: Sendable {
    /// Number of messages written to streams, counted for each stream.
    package let written = Atomic<Int>(0)
    /// Number of renderings that were too large to send.
    package let oversize = Atomic<Int>(0)
    /// Number of gaps written to streams.
    package let gaps = Atomic<Int>(0)

    package init() {}
}

extension Atomic<Int> {
    package func add(_ number: Int) { add(number, ordering: .relaxed) }

    package var count: Int { load(ordering: .relaxed) }
}
