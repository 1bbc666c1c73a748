import GRDB
import HubRouting

/// Changes that share one durable transaction.
struct GroupCommit<Output: Sendable>: Sendable {
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
        func undo() throws {
            try db.cachedStatement(sql: "ROLLBACK TO SAVEPOINT member").execute()
            recorder?.removeStatements(after: recorded)
        }
        // Cached statements: GRDB's own savepoints are compiled each time.
        try db.cachedStatement(sql: "SAVEPOINT member").execute()
        let result: Result<Output, any Error>
        do {
            let output = try member(Transaction(db, recorder: recorder))
            if isRehearsal { try undo() }
            result = .success(output)
        } catch {
            // A full or failing disk may have ended the whole transaction, so no member has succeeded.
            guard db.isInsideTransaction, error.isOfMember else { throw error }
            try undo()
            result = .failure(error.ofMember)
        }
        try db.cachedStatement(sql: "RELEASE SAVEPOINT member").execute()
        return result
    }
}

extension Error {
    /// True if the error says nothing about other members: SQLite refuses a statement of this member, or the part of the
    /// file that the statement reads is damaged.
    fileprivate var isOfMember: Bool {
        guard let error = self as? DatabaseError else { return true }
        return [
            .SQLITE_CONSTRAINT, .SQLITE_CORRUPT, .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_TOOBIG,
        ].contains(error.resultCode)
    }

    /// The error that the member gets; a violated constraint is the fault of its values, not of the file.
    fileprivate var ofMember: any Error {
        guard (self as? DatabaseError)?.resultCode != .SQLITE_CONSTRAINT, let failure = StorageFailure(self) else {
            return self
        }
        return failure
    }
}
