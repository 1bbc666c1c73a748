import GRDB
import HostSystem
package import SQLiteFiles

/// Reads, each in a snapshot of its own.
extension HubStore {
    /// Reads in this thread if it may block, and otherwise in another one.
    func snapshot<Value: Sendable>(_ body: @Sendable (Database) throws -> Value) async throws -> Value {
        func read() throws -> Value { try pool.read(body) }
        return try await ThreadExecutor.isCurrent ? read() : pool.read(body)
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> Value) async throws -> Value {
        try await snapshot { db in try body(Transaction(db)) }
    }

    /// Reads the tables of the app backend and the pages.
    package func readTables<Value: Sendable>(
        _ body: @escaping @Sendable (TableTransaction) throws -> Value
    ) async throws -> Value { try await snapshot { db in try body(TableTransaction(db)) } }

    /// Reads the tables of the app backend and the pages from the file of a hub that may be running.
    package static func readingTables<Value>(
        of path: String,
        _ body: (TableTransaction) throws -> Value
    ) throws -> Value {
        let queue = try DatabaseFile.reader(path)
        defer { try? queue.close() }
        return try queue.read { db in try body(TableTransaction(db)) }
    }

    /// Changes the tables of the app backend and the pages in the file of a hub that follows no log, and may be running.
    package static func changingTables<Value>(
        of path: String,
        _ body: (TableTransaction) throws -> Value
    ) throws -> Value {
        let queue = try DatabaseFile.neighbour(path)
        defer { try? queue.close() }
        return try queue.write { db in try body(TableTransaction(db)) }
    }

    /// True if a hub's file has the tables of the app backend and the pages, which those of earlier versions lack.
    package static func hasPeople(_ tables: TableTransaction) throws -> Bool {
        try tables.database.tableExists("importedFile")
    }

    /// True if a hub's file has accounts or sessions: of a hub that shares its log, or has done so.
    package static func holdsPeople(_ tables: TableTransaction) throws -> Bool {
        guard try hasPeople(tables) else { return false }
        return try ["importedFile", "account", "removedAccount", "session", "operatorAction"].contains {
            try tables.exists("SELECT 1 FROM \($0)")
        }
    }

    func rows<Value: Sendable>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ make: @escaping @Sendable (Row) throws -> Value
    ) async throws -> [Value] {
        try await snapshot { db in try db.rows(sql, arguments, make) }
    }

    func row<Value: Sendable>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ make: @escaping @Sendable (Row) throws -> Value
    ) async throws -> Value? {
        try await snapshot { db in try db.row(sql, arguments, make) }
    }

    func value<Value: Sendable & DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = []
    ) async throws -> Value? {
        try await snapshot { db in try db.value(sql, arguments) }
    }
}
