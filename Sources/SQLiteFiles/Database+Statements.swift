package import GRDB

/// Single statements and queries. Their compiled form is kept, since stores repeat the same few.
extension Database {
    package func execute(_ sql: String, _ arguments: StatementArguments) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// The first row of a query.
    package func row(_ query: String, _ arguments: StatementArguments) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: query), arguments: arguments)
    }

    /// All rows of a query.
    package func rows(_ query: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: query), arguments: arguments)
    }

    /// The first value of a query; `nil` also for `NULL`.
    package func value<Value: DatabaseValueConvertible>(
        _ query: String,
        _ arguments: StatementArguments = []
    ) throws -> Value? {
        try Value.fetchOne(cachedStatement(sql: query), arguments: arguments)
    }

    /// True if a query finds a row.
    package func exists(_ query: String, _ arguments: StatementArguments = []) throws -> Bool {
        try value("SELECT EXISTS (\(query))", arguments) == true
    }

    /// Number of rows that a query finds, which is given from the name of the table on.
    package func count(_ rows: String, _ arguments: StatementArguments = []) throws -> Int {
        try value("SELECT count(*) FROM \(rows)", arguments) ?? 0
    }
}
