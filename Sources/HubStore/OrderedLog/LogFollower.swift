import GRDB
package import HubRouting
import Synchronization

/// Commits through a log that several nodes share, and replays what other nodes write.
///
/// All of it runs on the database's thread.
package final class LogFollower: Sendable {
    /// Receives the effects of an entry that another node wrote, or that this node wrote without learning that it was
    /// accepted.
    package typealias Foreign = @Sendable ([NamespaceEffect]) -> Void

    /// Maximum number of attempts to stage a commit that other nodes keep preceding.
    static let maximumRounds = 100
    /// Number of entries read at once.
    private static let page = 64

    private let log: any OrderedLog
    let identity: LogIdentity
    /// An entry for which the log has not answered: the log may or may not contain it.
    private let unanswered = Mutex<(entry: LogEntry, place: LogPlace)?>(nil)

    init(_ log: any OrderedLog, as identity: LogIdentity) {
        self.log = log
        self.identity = identity
    }

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
            var isFirst = true
            try db.inTransaction(.immediate) {
                let recorder = StatementRecorder()
                results = try group.stage(db, recorder)
                isFirst = try append(recorder.statements, group.effects(of: results), Transaction(db))
                return isFirst ? .commit : .rollback
            }
            if isFirst { return results }
            try follow(db, foreign)
        }
        throw OrderedLogError.overtaken
    }

    /// - Returns: False if another node was first.
    private func append(
        _ statements: [RecordedStatement],
        _ effects: [NamespaceEffect],
        _ transaction: Transaction
    ) throws -> Bool {
        // Changes of node-local tables alone need no entry.
        guard !statements.isEmpty || !effects.isEmpty else { return true }
        let place = try transaction.logPlace()
        let entry = LogEntry(
            previous: place.entry,
            schema: Schema.version,
            node: identity.node,
            statements: statements,
            effects: effects.map(LoggedEffect.init)
        )
        switch try send(entry, after: place) {
        case .accepted(let number):
            try transaction.set(LogPlace(number: number, entry: entry.id))
            return true
        case .behind: return false
        }
    }

    private func send(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
        do {
            let answer = try log.append(entry, after: place)
            unanswered.withLock { $0 = nil }
            return answer
        } catch {
            unanswered.withLock { $0 = (entry, place) }
            throw error
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
    func catchUp(_ db: Database, _ foreign: Foreign) throws {
        try settle(db, foreign)
        try follow(db, foreign)
    }

    /// Replays the log's entries after this node's place.
    private func follow(_ db: Database, _ foreign: Foreign) throws {
        let end = try log.end()
        var place = try Transaction(db).logPlace()
        guard end >= place.number else { throw OrderedLogError.truncated(number: place.number) }
        while place.number < end {
            let entries = try log.read(after: place, limit: Self.page)
            guard !entries.isEmpty else { throw OrderedLogError.truncated(number: end) }
            for placed in entries {
                var effects: [NamespaceEffect] = []
                try db.inTransaction(.immediate) {
                    effects = try Transaction(db).replay(placed)
                    return .commit
                }
                foreign(effects)
                place = placed.place
            }
        }
    }
}

extension GroupCommit {
    /// The effects of the members that succeeded, in order.
    fileprivate func effects(of results: [Result<Output, any Error>]) -> [NamespaceEffect] {
        results.flatMap { result in (try? result.get()).map(effects) ?? [] }
    }
}
