/// Puts the group commits of a hub's nodes into one order.
///
/// A commit is staged in a transaction, appended to the log, and committed only when the log has accepted it: the log
/// decides which of two nodes was first.
package protocol OrderedLog: Sendable {
    /// This node and the log; `nil` for a log that no other node reads, for which nothing is recorded.
    var identity: LogIdentity? { get }

    /// Appends an entry if the log's last entry is at `place`.
    ///
    /// Called on the database's thread, which it may block. A repeated call with the same entry must not append it
    /// twice.
    ///
    /// - Throws: ``OrderedLogError/tooLarge(bytes:limit:)`` if the entry can never be appended; another error if the
    ///   log has not answered, and may or may not contain the entry.
    func append(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer

    /// The entries after a place, oldest first; at most `limit`. An empty result means the end of the log.
    func read(after place: LogPlace, limit: Int) throws -> [PlacedEntry]

    /// The number of the last entry; 0 for an empty log.
    func end() throws -> UInt64

    /// The number of the newest entry that the log has announced to this node, without asking it.
    ///
    /// `nil` if an announcement may have been lost since ``end()`` was last called, which can take a second to notice.
    func announcedEnd() -> UInt64?

    /// Yields an element after each entry that another node may have appended; consecutive elements may be merged.
    func wakeUps() -> AsyncStream<Void>

    /// The servers that keep the log, as they last answered, without asking them.
    var serverReport: LogServerReport { get }
}

/// A node of a log.
package struct LogIdentity: Sendable, Equatable {
    /// The node's name in its entries.
    package let node: String
    /// The name of the log since it was last reset: the epoch of cursors at all nodes.
    package let incarnation: String
    /// The node from whose database the log was started again; `nil` for a log that began empty.
    package let beginner: String?

    package init(node: String, incarnation: String, beginner: String? = nil) {
        self.node = node
        self.incarnation = incarnation
        self.beginner = beginner
    }
}

/// The answer of a log to an appended entry.
package enum LogAnswer: Sendable, Equatable {
    /// The entry is now the last one, and has this number.
    case accepted(UInt64)
    /// The log has entries after the given place; the last one has this number.
    case behind(last: UInt64)
}

/// A place in an ordered log: the number of an entry, and its id.
package struct LogPlace: Sendable, Hashable {
    package static let beginning = LogPlace(number: 0, entry: .none)

    package let number: UInt64
    package let entry: EntryID
}

/// The newest entry of a log that a node's database has.
package struct LogHead: Sendable, Equatable {
    package let number: UInt64
    /// The node that wrote the entry; `nil` if this node has not seen an entry since its start.
    package let node: String?
}

/// A node's position in a log.
package struct LogState: Sendable {
    package var head = LogHead(number: 0, node: nil)
    /// The number of the log's last entry when this node last asked.
    package var end: UInt64 = 0
    /// The number of the newest entry in the database that another node wrote, or may have written.
    package var newestForeign: UInt64 = 0
}

/// The point up to which a node follows its log.
package enum LogGoal: Sendable, Equatable {
    /// To the entries that the log has announced.
    case announced
    /// To an entry that the log is known to have.
    case entry(UInt64)
    /// To the log's last entry, for which the log is asked.
    case end

    /// The goal with which all of them are reached; `nil` without any.
    package static func furthest(of goals: some Collection<LogGoal>) -> LogGoal? {
        if goals.contains(.end) { return .end }
        let last = goals.lazy.compactMap { if case .entry(let number) = $0 { number } else { nil } }.max()
        return last.map(LogGoal.entry) ?? goals.first
    }
}

/// An entry with its number.
package struct PlacedEntry: Sendable, Equatable {
    package let number: UInt64
    package let entry: LogEntry

    package init(number: UInt64, entry: LogEntry) {
        self.number = number
        self.entry = entry
    }

    package var place: LogPlace { LogPlace(number: number, entry: entry.id) }
}

/// The log of a hub with one node, whose database is its log: SQLite already orders its commits.
package struct EmbeddedLog: OrderedLog {
    package init() {}

    package var identity: LogIdentity? { nil }

    package func append(_ entry: LogEntry, after place: LogPlace) -> LogAnswer { .accepted(place.number) }
    package func read(after place: LogPlace, limit: Int) -> [PlacedEntry] { [] }
    package func end() -> UInt64 { 0 }
    package func announcedEnd() -> UInt64? { 0 }
    package func wakeUps() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    package var serverReport: LogServerReport { LogServerReport() }
}
