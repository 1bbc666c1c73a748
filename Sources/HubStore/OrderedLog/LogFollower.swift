import GRDB
import HubRouting
import Synchronization

/// Commits through a log that several nodes share, and replays what other nodes write.
///
/// All of it runs on the database's thread.
package final class LogFollower: Sendable {
    /// Receives the effects of an entry that another node wrote, or that this node wrote without learning that it was
    /// accepted.
    package typealias Foreign = @Sendable ([NamespaceEffect]) -> Void

    /// Maximum number of times that a commit is staged while other nodes keep committing first.
    static let maximumRounds = 100
    /// Number of entries read at once.
    private static let page = 64

    private let log: any OrderedLog
    let identity: LogIdentity
    /// The schema of this version: its number of migrations.
    private let version: Int
    private let state = Mutex(LogState())
    private let databaseSchema = Mutex(0)
    /// An entry for which the log has not answered: the log may or may not contain it.
    private let unanswered = Mutex<(entry: LogEntry, place: LogPlace)?>(nil)

    init(_ log: any OrderedLog, as identity: LogIdentity, schema: Int) {
        self.log = log
        self.identity = identity
        version = schema
    }

    /// Number of migrations that the database has.
    var schema: Int { databaseSchema.withLock { $0 } }

    func note(schema: Int) { databaseSchema.withLock { $0 = schema } }

    /// The newest entry that this node's database has, and the log's end as far as it is known.
    var known: LogState { state.withLock { $0 } }

    /// Notes the newest entry of the database.
    func note(_ head: LogHead) {
        state.withLock { state in
            state.head = head
            state.end = max(state.end, head.number)
            if head.node != identity.node { state.newestForeign = head.number }
        }
    }

    /// The number of the newest entry that the log is known to have.
    var newestEntry: UInt64 { max(known.end, log.announcedEnd() ?? 0) }

    /// Commits changes once the log has accepted them.
    ///
    /// If all members fail, or change nothing that nodes share, no entry is written. These members have seen the state
    /// of this node, which may be behind the log.
    ///
    /// If the commit fails after the log has accepted the entry, this node is behind its own entry, and then follows it
    /// as a foreign one.
    func commit<Output>(
        _ group: GroupCommit<Output>,
        _ db: Database,
        _ foreign: Foreign
    ) throws -> [Result<Output, any Error>] {
        try settle(db, foreign)
        for _ in 0..<Self.maximumRounds {
            var results: [Result<Output, any Error>] = []
            var answer: LogAnswer?
            try db.inTransaction(.immediate) {
                let recorder = StatementRecorder()
                results = try group.stage(db, recorder)
                answer = try append(recorder.statements, group.effects(of: results), Transaction(db))
                if case .behind = answer { return .rollback }
                return .commit
            }
            switch answer {
            case nil: return results
            case .accepted(let number):
                note(LogHead(number: number, node: identity.node))
                return results
            case .behind: try follow(db, foreign)
            }
        }
        throw OrderedLogError.overtaken
    }

    /// - Returns: `nil` if there is nothing that other nodes need.
    private func append(
        _ statements: [RecordedStatement],
        _ effects: [NamespaceEffect],
        _ transaction: Transaction
    ) throws -> LogAnswer? {
        // Changes of node-local tables alone need no entry.
        guard !statements.isEmpty || !effects.isEmpty else { return nil }
        let place = try transaction.logPlace()
        let entry = LogEntry(
            previous: place.entry,
            schema: version,
            node: identity.node,
            statements: statements,
            effects: effects.map(LoggedEffect.init)
        )
        let answer = try send(entry, after: place)
        if case .accepted(let number) = answer { try transaction.set(LogPlace(number: number, entry: entry.id)) }
        return answer
    }

    private func send(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
        do {
            let answer = try asking { try log.append(entry, after: place) }
            unanswered.withLock { $0 = nil }
            return answer
        } catch let error as OrderedLogError where error.isRefusal {
            unanswered.withLock { $0 = nil }
            throw error
        } catch {
            unanswered.withLock { $0 = (entry, place) }
            throw error
        }
    }

    // MARK: - Joining

    /// Checks that a database belongs to the log, and makes the content of a first node the beginning of the log.
    ///
    /// A database with content begins an empty log at a place of its own, so that only copies of this database can
    /// follow: an empty database lacks the content that is not in the log.
    ///
    /// - Returns: True for a file without content that has not all of the schema, if the log is empty, too.
    func join(_ db: Database) throws -> Bool {
        let transaction = Transaction(db)
        let end = try asking { try log.end() }
        if try schema < version && transaction.isNew() { return end == 0 }
        try checkPlace(transaction, end: end)
        if try transaction.logPlace() == .beginning, try !transaction.isNew() {
            guard end == 0 else { throw OrderedLogError.otherDatabase(end: end) }
            try transaction.set(LogPlace(number: 0, entry: .random()))
        }
        return false
    }

    /// Checks that the log has the last entry of a database, as far as it still has entries of that age.
    ///
    /// A log that was started again may have as many entries as the former one.
    private func checkPlace(_ transaction: Transaction, end: UInt64) throws {
        guard try transaction.followsLog() else { return }
        let place = try transaction.logPlace()
        // Copies of the database that a log was started again from name it in their newest epoch.
        if let beginner = identity.beginner, try transaction.newestEpoch() != identity.incarnation {
            throw OrderedLogError.startedAgain(beginner: beginner)
        }
        guard (1...max(1, end)).contains(place.number) else { return }
        do {
            let before = LogPlace(number: place.number - 1, entry: .none)
            let stored = try asking { try log.read(after: before, limit: 1) }.first
            guard stored == nil || stored?.place == place else { throw OrderedLogError.forked(number: place.number) }
        } catch OrderedLogError.outOfRetention {
            // The next entries are checked when they are read.
        }
    }

    // MARK: - The schema

    /// Appends the entry at which all nodes change to the schema of this version.
    ///
    /// This database changes when it follows, like the others. If another node was first, nothing is appended.
    func appendUpgrade(_ db: Database) throws {
        let place = try Transaction(db).logPlace()
        let entry = LogEntry(previous: place.entry, schema: version, node: identity.node, statements: [], effects: [])
        _ = try send(entry, after: place)
    }

    private func currentEnd() throws -> UInt64 {
        let end = try asking { try log.end() }
        state.withLock { $0.end = end }
        return end
    }

    /// Calls the log, and turns its errors into ``OrderedLogError``.
    private func asking<Answer>(_ body: () throws -> Answer) throws -> Answer {
        do {
            return try body()
        } catch let error as OrderedLogError {
            throw error
        } catch let error as LogEntryError {
            throw OrderedLogError.unreadable(reason: "\(error)")
        } catch let error as any LogEngineError where error.isFinal {
            throw OrderedLogError.unusable(reason: "\(error)")
        } catch {
            throw OrderedLogError.unavailable(reason: "\(error)")
        }
    }

    /// Resolves an unanswered entry before anything else is staged, by sending the same entry again: the log accepts
    /// it, has already accepted it, or refuses it because another entry has its place.
    private func settle(_ db: Database, _ foreign: Foreign) throws {
        guard let (entry, place) = unanswered.withLock({ $0 }) else { return }
        _ = try send(entry, after: place)
        try follow(db, foreign)
    }

    /// Resolves an unanswered entry, and replays the log's entries after this node's place.
    func catchUp(_ db: Database, to goal: LogGoal, _ foreign: Foreign) throws {
        try settle(db, foreign)
        try follow(db, to: goal, foreign)
    }

    /// Replays the log's entries after this node's place.
    private func follow(_ db: Database, to goal: LogGoal = .end, _ foreign: Foreign) throws {
        let transaction = Transaction(db)
        var place = try schema == version || transaction.followsLog() ? transaction.logPlace() : .beginning
        let (end, isConfirmed) = try self.end(for: goal, at: place)
        guard !isConfirmed || end >= place.number else { throw OrderedLogError.truncated(number: place.number) }
        // A page can have entries that were written after the log had answered.
        while place.number < end {
            let entries = try asking { try log.read(after: place, limit: Self.page) }
            if let first = entries.first {
                try checkSchema(of: first, after: place)
                let readable = entries.prefix { $0.entry.schema == first.entry.schema }
                try replay(readable, db, foreign)
                place = readable.last?.place ?? place
            } else if isConfirmed {
                throw OrderedLogError.truncated(number: end)
            } else {
                return try follow(db, to: .end, foreign)
            }
        }
    }

    /// - Returns: The number of the entry to reach, and whether the log has been asked for it.
    private func end(for goal: LogGoal, at place: LogPlace) throws -> (UInt64, isConfirmed: Bool) {
        switch goal {
        case .announced:
            // A log that ends before this node's place must say so itself.
            if let end = log.announcedEnd(), end >= place.number { return (end, false) }
        case .entry(let number): return (number, false)
        case .end: break
        }
        return (try currentEnd(), true)
    }

    /// Checks that the next entry was written for the schema that the database has.
    private func checkSchema(of placed: PlacedEntry, after place: LogPlace) throws {
        let entry = placed.entry
        // Before a migration, which would be kept.
        guard entry.previous == place.entry else { throw OrderedLogError.forked(number: placed.number) }
        guard entry.schema <= version else {
            throw OrderedLogError.newerSchema(number: placed.number, node: entry.node)
        }
        guard entry.schema <= schema else { throw PendingMigration(schema: entry.schema) }
        guard entry.schema == schema else {
            throw OrderedLogError.olderSchema(number: placed.number, node: entry.node)
        }
    }

    /// Replays entries in one transaction, so that a node that is behind does not sync its disk for each of them.
    private func replay(_ entries: ArraySlice<PlacedEntry>, _ db: Database, _ foreign: Foreign) throws {
        var effects: [[NamespaceEffect]] = []
        // This version's queries do not fit an earlier schema, with which no hub serves.
        let readsEffects = schema == version
        try db.inTransaction(.immediate) {
            let transaction = Transaction(db)
            effects = try entries.map { try transaction.replay($0, readsEffects: readsEffects) }
            return .commit
        }
        for (placed, effects) in zip(entries, effects) {
            note(LogHead(number: placed.number, node: placed.entry.node))
            foreign(effects)
        }
    }
}

/// The next entry of the log was written for a later schema, which this version can make.
struct PendingMigration: Error {
    let schema: Int
}

extension GroupCommit {
    /// The effects of the members that succeeded, in order.
    fileprivate func effects(of results: [Result<Output, any Error>]) -> [NamespaceEffect] {
        results.flatMap { result in (try? result.get()).map(effects) ?? [] }
    }
}
