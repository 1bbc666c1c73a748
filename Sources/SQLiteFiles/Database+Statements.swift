package import GRDB

/// A connection with short forms of queries.
package protocol TableReader {
    var database: Database { get }
}

extension Database: TableReader {
    package var database: Database { self }

    /// Executes one statement, whose compiled form is kept.
    package func execute(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

/// Single queries. Their compiled form is kept, since stores repeat the same few.
extension TableReader {
    /// The first row of a query.
    package func row(_ query: String, _ arguments: StatementArguments = []) throws -> Row? {
        try Row.fetchOne(database.cachedStatement(sql: query), arguments: arguments)
    }

    /// The first row of a query, as a value that is made of it.
    package func row<Value>(
        _ query: String,
        _ arguments: StatementArguments = [],
        _ make: (Row) throws -> Value
    ) throws -> Value? {
        try row(query, arguments).map(make)
    }

    /// All rows of a query.
    package func rows(_ query: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try Row.fetchAll(database.cachedStatement(sql: query), arguments: arguments)
    }

    /// All rows of a query, as values that are made of them; each row is read once its turn has come.
    package func rows<Value>(
        _ query: String,
        _ arguments: StatementArguments = [],
        _ make: (Row) throws -> Value
    ) throws -> [Value] {
        let rows = try Row.fetchCursor(database.cachedStatement(sql: query), arguments: arguments)
        var values: [Value] = []
        while let row = try rows.next() { values.append(try make(row)) }
        return values
    }

    /// The first value of a query; `nil` without a row, and for `NULL`.
    package func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ query: String,
        _ arguments: StatementArguments = []
    ) throws -> Value? {
        try Value.fetchOne(database.cachedStatement(sql: query), arguments: arguments)
    }

    /// The values of a query's first column.
    package func values<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ query: String,
        _ arguments: StatementArguments = []
    ) throws -> [Value] {
        try Value.fetchAll(database.cachedStatement(sql: query), arguments: arguments)
    }

    /// True if a query finds a row.
    package func exists(_ query: String, _ arguments: StatementArguments = []) throws -> Bool {
        try value("SELECT EXISTS (\(query))", arguments) == true
    }

    /// Number of rows; `rows` is the part of a query after `FROM`.
    package func count(_ rows: String, _ arguments: StatementArguments = []) throws -> Int {
        try value("SELECT count(*) FROM \(rows)", arguments) ?? 0
    }
}
