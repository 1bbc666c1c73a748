import GRDB

/// Statements that read; they stay prepared.
extension Database {
    func rows<Value>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ make: (Row) throws -> Value
    ) throws -> [Value] {
        let rows = try Row.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
        var values: [Value] = []
        while let row = try rows.next() { values.append(try make(row)) }
        return values
    }

    /// The first row.
    func row<Value>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ make: (Row) throws -> Value
    ) throws -> Value? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments).map(make)
    }

    /// The values of the first column.
    func values<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = []
    ) throws -> [Value] {
        try Value.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// The first value of the first row; `nil` without a row, and for NULL.
    func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = []
    ) throws -> Value? {
        try Value.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }
}

/// The same in a snapshot of its own.
extension HubStore {
    func read<Value: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> Value) async throws -> Value {
        try await pool.read { db in try body(Transaction(db)) }
    }

    func rows<Value: Sendable>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ make: @escaping @Sendable (Row) throws -> Value
    ) async throws -> [Value] {
        try await pool.read { db in try db.rows(sql, arguments, make) }
    }

    func row<Value: Sendable>(
        _ sql: String,
        _ arguments: StatementArguments = [],
        _ make: @escaping @Sendable (Row) throws -> Value
    ) async throws -> Value? {
        try await pool.read { db in try db.row(sql, arguments, make) }
    }

    func value<Value: Sendable & DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = []
    ) async throws -> Value? {
        try await pool.read { db in try db.value(sql, arguments) }
    }
}
