import HubRouting
import Synchronization

@testable import HubStore

/// An ordered log in memory that several nodes share; it keeps entries as they travel.
final class MemoryLog: Sendable {
    /// A fault of the next call of `append`.
    enum Fault: Sendable {
        /// The entry does not reach the log, and nobody answers.
        case loseEntry
        /// The entry is appended, and nobody answers.
        case loseAnswer
    }

    struct NoAnswer: Error {}

    private struct State {
        var entries: [[UInt8]] = []
        var faults: [Fault] = []
    }

    private let state = Mutex(State())

    func node(_ name: String) -> Node { Node(log: self, name: name) }

    func fail(_ faults: Fault...) { state.withLock { $0.faults += faults } }

    var entries: [LogEntry] {
        get throws { try state.withLock { $0.entries }.map { try LogEntry(encoded: $0) } }
    }

    /// Replaces what is kept.
    func change(_ change: (inout [[UInt8]]) -> Void) { state.withLock { change(&$0.entries) } }

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

    struct Node: OrderedLog {
        let log: MemoryLog
        let name: String

        var node: String? { name }

        func append(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
            try log.append(entry, after: place)
        }

        func read(after place: LogPlace, limit: Int) throws -> [PlacedEntry] {
            let entries = try log.entries.enumerated().dropFirst(Int(place.number)).prefix(limit)
            return entries.map { PlacedEntry(number: UInt64($0.offset) + 1, entry: $0.element) }
        }

        func end() -> UInt64 { log.state.withLock { UInt64($0.entries.count) } }

        func wakeUps() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    }
}
