import GRDB
package import SQLiteFiles

/// A change of the tables of people and pages that another process has tried on the file of a running hub.
///
/// With a log, only the hub can write. The process runs the change, undoes it, and passes on its statements, which the
/// hub repeats if they still have the same effect.
package struct PreparedChange: Sendable {
    fileprivate let statements: [RecordedStatement]

    /// True if there is nothing to write.
    package var isEmpty: Bool { statements.isEmpty }

    /// Runs a change on a hub's file, and undoes it.
    ///
    /// - Returns: The value of `body`, and the change.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``, and the errors of `body`.
    package static func tried<Value>(
        on database: String,
        _ body: (TableTransaction) throws -> Value
    ) throws -> (Value, PreparedChange) {
        let queue = try DatabaseFile.neighbour(database)
        defer { try? queue.close() }
        let recorder = StatementRecorder()
        var value: Value?
        try queue.writeWithoutTransaction { db in
            try db.inTransaction(.immediate) {
                value = try body(Transaction(db, recorder: recorder).tables)
                return .rollback
            }
        }
        guard let value else { throw DatabaseError(resultCode: .SQLITE_INTERNAL) }
        return (value, PreparedChange(statements: recorder.statements))
    }
}

extension PreparedChange {
    package var encoded: [UInt8] {
        var writer = EntryWriter()
        writer.append(statements: statements)
        return writer.bytes
    }

    /// - Throws: ``LogEntryError``.
    package init(encoded: [UInt8]) throws(LogEntryError) {
        var reader = EntryReader(encoded)
        statements = try reader.statements()
        guard reader.isAtEnd else { throw .damaged("extra bytes follow it") }
    }
}

extension Transaction {
    /// Repeats a change that another process has tried.
    ///
    /// - Returns: False if a statement changes another number of rows than there; the caller must then undo the change.
    package func `repeat`(_ change: PreparedChange) throws -> Bool {
        for statement in change.statements {
            try execute(statement.sql, statement.values)
            guard db.changesCount == statement.changes else { return false }
        }
        return true
    }
}
