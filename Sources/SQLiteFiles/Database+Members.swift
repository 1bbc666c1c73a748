package import GRDB

extension Database {
    /// Runs the work of one of several requests that share a transaction, in a savepoint: its failure undoes no other's
    /// work.
    ///
    /// - Parameters:
    ///   - isUndone: True if the changes are undone although the work succeeded.
    ///   - body: The work.
    /// - Returns: The value of `body`, or the error that it failed with alone.
    /// - Throws: An error that concerns all members, such as a full disk, which can have ended the transaction.
    package func runMember<Value>(
        isUndone: Bool = false,
        _ body: (Database) throws -> Value
    ) throws -> Result<Value, any Error> {
        // Cached statements: GRDB's own savepoints are compiled each time.
        try cachedStatement(sql: "SAVEPOINT member").execute()
        let result: Result<Value, any Error>
        do {
            let value = try body(self)
            if isUndone { try cachedStatement(sql: "ROLLBACK TO SAVEPOINT member").execute() }
            result = .success(value)
        } catch {
            guard isInsideTransaction, (error as? DatabaseError)?.isOfMember ?? true else { throw error }
            try cachedStatement(sql: "ROLLBACK TO SAVEPOINT member").execute()
            result = .failure(error)
        }
        try cachedStatement(sql: "RELEASE SAVEPOINT member").execute()
        return result
    }
}

extension DatabaseError {
    /// True if the error says nothing about other members: SQLite refuses a statement of this member, or the part of the
    /// file that the statement reads is damaged.
    fileprivate var isOfMember: Bool {
        [.SQLITE_CONSTRAINT, .SQLITE_CORRUPT, .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_TOOBIG].contains(resultCode)
    }
}
