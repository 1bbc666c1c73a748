import GRDB
import HubRouting
import SQLiteFiles

/// Changes that share one durable transaction.
struct GroupCommit<Output: Sendable>: Sendable {
    /// The file, for messages.
    let path: String
    let members: [@Sendable (Transaction) throws -> Output]
    /// Derives the effects of a change from the result of its member.
    let effects: @Sendable (Output) -> [NamespaceEffect]
    /// True if each member runs twice, and the first run is rolled back.
    let rehearses: Bool

    /// Commits the changes without recording them.
    func run(_ db: Database) throws -> [Result<Output, any Error>] {
        var results: [Result<Output, any Error>] = []
        try db.inTransaction(.immediate) {
            results = try stage(db, rehearses ? StatementRecorder() : nil)
            return .commit
        }
        return results
    }

    /// Runs the changes inside a transaction, each in a savepoint.
    ///
    /// - Returns: A result for each member, in order.
    func stage(_ db: Database, _ recorder: StatementRecorder?) throws -> [Result<Output, any Error>] {
        try members.map { member in
            if rehearses { _ = try run(member, in: db, recorder, isRehearsal: true) }
            return try run(member, in: db, recorder)
        }
    }

    private func run(
        _ member: (Transaction) throws -> Output,
        in db: Database,
        _ recorder: StatementRecorder?,
        isRehearsal: Bool = false
    ) throws -> Result<Output, any Error> {
        let recorded = recorder?.statements.count ?? 0
        let result = try db.runMember(isUndone: isRehearsal) { try member(Transaction($0, recorder: recorder)) }
        guard case .failure(let error) = result else {
            if isRehearsal { recorder?.removeStatements(after: recorded) }
            return result
        }
        recorder?.removeStatements(after: recorded)
        // A violated constraint is the fault of the member's values, not of the file.
        guard (error as? DatabaseError)?.resultCode != .SQLITE_CONSTRAINT else { return result }
        return .failure(DatabaseFileError(error, path: path) ?? error)
    }
}
