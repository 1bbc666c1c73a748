package import HubStore
import Synchronization

/// An ordered log in memory that several nodes share; it keeps entries as they travel.
package final class MemoryLog: Sendable {
    /// A fault of one call of `append`.
    package enum Fault: Sendable {
        /// The entry does not reach the log, and nobody answers.
        case loseEntry
        /// The entry is appended, and nobody answers.
        case loseAnswer
    }

    package struct NoAnswer: Error {}

    private struct State {
        var entries: [[UInt8]] = []
        var faults: [Fault] = []
    }

    private let incarnation: String
    private let state = Mutex(State())

    package init(incarnation: String = "memory") { self.incarnation = incarnation }

    package func node(_ name: String) -> Node {
        Node(log: self, identity: LogIdentity(node: name, incarnation: incarnation))
    }

    /// Each of the next calls of `append` meets one fault.
    package func fail(_ faults: Fault...) { state.withLock { $0.faults += faults } }

    /// No call meets a fault any more.
    package func heal() { state.withLock { $0.faults = [] } }

    package var entries: [LogEntry] {
        get throws { try state.withLock { $0.entries }.map { try LogEntry(encoded: $0) } }
    }

    /// Changes what is kept.
    package func change(_ change: (inout [[UInt8]]) -> Void) { state.withLock { change(&$0.entries) } }

    private func append(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
        try state.withLock { state in
            let fault = state.faults.isEmpty ? nil : state.faults.removeFirst()
            if fault == .loseEntry { throw NoAnswer() }
            let last = UInt64(state.entries.count)
            let bytes = entry.encoded
            if last == place.number + 1, state.entries.last == bytes { return .accepted(last) }
            guard last == place.number else { return .behind(last: last) }
            state.entries.append(bytes)
            if fault == .loseAnswer { throw NoAnswer() }
            return .accepted(last + 1)
        }
    }

    /// The log as one node has it.
    package struct Node: OrderedLog {
        fileprivate let log: MemoryLog
        package let identity: LogIdentity?

        package func append(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
            try log.append(entry, after: place)
        }

        package func read(after place: LogPlace, limit: Int) throws -> [PlacedEntry] {
            let entries = try log.entries.enumerated().dropFirst(Int(place.number)).prefix(limit)
            return entries.map { PlacedEntry(number: UInt64($0.offset) + 1, entry: $0.element) }
        }

        package func end() -> UInt64 { log.state.withLock { UInt64($0.entries.count) } }

        package func wakeUps() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    }
}
