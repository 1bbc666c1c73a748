package import GRDB

/// Access to the tables of a store within a transaction.
///
/// Every change of a row goes through ``execute(_:_:)``, where the log that several hubs share records it.
package struct TableTransaction: TableReader {
    package typealias Recorder = (
        _ sql: String, _ values: [(any DatabaseValueConvertible)?], _ changes: Int
    ) throws -> Void

    /// The connection, for queries.
    package let database: Database
    private let record: Recorder?

    /// `record` is called after each statement that writes; `nil` if nobody repeats the statements elsewhere.
    package init(_ database: Database, record: Recorder? = nil) {
        self.database = database
        self.record = record
    }

    /// Executes one statement that writes.
    ///
    /// - Throws: A `DatabaseError`, or the error of the recorder for a statement whose result would differ elsewhere.
    package func execute(_ sql: String, _ values: [(any DatabaseValueConvertible)?] = []) throws {
        try database.execute(sql, StatementArguments(values))
        try record?(sql, values, database.changesCount)
    }

    /// Number of rows that the last statement has changed.
    package var changesCount: Int { database.changesCount }

    /// The key of the row that was inserted last.
    package var lastInsertedRowID: Int64 { database.lastInsertedRowID }
}

/// A database with the tables of a store: a file of its own, or a hub's file, whose log records each change.
package protocol TableDatabase: Sendable {
    /// Reads, in a transaction of its own.
    ///
    /// - Throws: ``DatabaseFileError``, and the errors of `body`.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value

    /// Makes a change, all or nothing, and returns when it is durable.
    ///
    /// `body` may run more than once; the last run counts.
    ///
    /// - Throws: ``DatabaseFileError``, and the errors of `body`.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value

    /// The reason why changes cannot be stored, as of the last change or check; `nil` if they can.
    var failure: String? { get }

    /// Checks whether changes can be stored; after a failed change, by writing.
    ///
    /// - Returns: The reason why they cannot; `nil` if they can.
    func check() async -> String?
}

/// The tables of a store in a file of their own.
package final class TableFile: TableDatabase {
    private let pool: DatabasePool
    private let health = DatabaseHealth()

    /// Opens or creates the file, and migrates it.
    ///
    /// - Throws: ``DatabaseFileError``, or the error of a migration.
    package init(at path: String, _ opener: DatabaseOpener) throws {
        pool = try opener.pool(at: path)
        try opener.migrate(pool)
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value {
        try await DatabaseFileError.naming(pool.path) { try await pool.read { try body(TableTransaction($0)) } }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value {
        try await DatabaseFileError.naming(pool.path) {
            try await health.noting { try await pool.write { try body(TableTransaction($0)) } }
        }
    }

    package var failure: String? { health.failure }

    package func check() async -> String? { await health.check(pool) }
}
