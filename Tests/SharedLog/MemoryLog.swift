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

    package static let noAnswer = OrderedLogError.unavailable(reason: "no answer")

    private struct State {
        var entries: [[UInt8]] = []
        var faults: [Fault] = []
        var followers: [AsyncStream<Void>.Continuation] = []
        /// True if nobody gets an answer.
        var isAway = false
        var servers = LogServerReport()
    }

    private let incarnation: String
    private let beginner: String?
    /// Maximum size of an encoded entry.
    private let limit: Int
    private let state = Mutex(State())

    package init(incarnation: String = "memory", beginner: String? = nil, limit: Int = .max) {
        self.incarnation = incarnation
        self.beginner = beginner
        self.limit = limit
    }

    /// A node that is told of the others' entries, or follows only when it is asked to.
    package func node(_ name: String, isNotified: Bool = true) -> Node {
        Node(
            log: self,
            isNotified: isNotified,
            identity: LogIdentity(node: name, incarnation: incarnation, beginner: beginner)
        )
    }

    /// Each of the next calls of `append` meets one fault.
    package func fail(_ faults: Fault...) { state.withLock { $0.faults += faults } }

    /// No call meets a fault any more.
    package func heal() { state.withLock { $0.faults = [] } }

    /// Changes what the log's servers report.
    package func report(_ servers: LogServerReport) { state.withLock { $0.servers = servers } }

    /// Takes the log away from all nodes, or brings it back.
    package func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    package var entries: [LogEntry] {
        get throws { try state.withLock { $0.entries }.map { try LogEntry(encoded: $0) } }
    }

    /// Changes what is kept.
    package func change(_ change: (inout [[UInt8]]) -> Void) { state.withLock { change(&$0.entries) } }

    private func append(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
        try state.withLock { state in
            if state.isAway { throw MemoryLog.noAnswer }
            let fault = state.faults.isEmpty ? nil : state.faults.removeFirst()
            if fault == .loseEntry { throw MemoryLog.noAnswer }
            let last = UInt64(state.entries.count)
            let bytes = entry.encoded
            guard bytes.count <= limit else { throw OrderedLogError.tooLarge(bytes: bytes.count, limit: limit) }
            if last == place.number + 1, state.entries.last == bytes { return .accepted(last) }
            guard last == place.number else { return .behind(last: last) }
            state.entries.append(bytes)
            for follower in state.followers { follower.yield() }
            if fault == .loseAnswer { throw MemoryLog.noAnswer }
            return .accepted(last + 1)
        }
    }

    /// The log as one node has it.
    package struct Node: OrderedLog {
        fileprivate let log: MemoryLog
        fileprivate let isNotified: Bool
        package let identity: LogIdentity?

        package func append(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
            try log.append(entry, after: place)
        }

        package func read(after place: LogPlace, limit: Int) throws -> [PlacedEntry] {
            let entries = try log.entries.enumerated().dropFirst(Int(place.number)).prefix(limit)
            return entries.map { PlacedEntry(number: UInt64($0.offset) + 1, entry: $0.element) }
        }

        package func end() throws -> UInt64 {
            try log.state.withLock { state in
                if state.isAway { throw MemoryLog.noAnswer }
                return UInt64(state.entries.count)
            }
        }

        package var serverReport: LogServerReport { log.state.withLock { $0.servers } }

        package func announcedEnd() -> UInt64? { log.state.withLock { $0.isAway ? nil : UInt64($0.entries.count) } }

        package func wakeUps() -> AsyncStream<Void> {
            let (wakeUps, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            if isNotified { log.state.withLock { $0.followers.append(continuation) } }
            return wakeUps
        }
    }
}
