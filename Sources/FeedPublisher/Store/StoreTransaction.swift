internal import Feeds
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol
internal import SQLiteFiles

/// The statements of one transaction of the publisher's store; valid within the closure that receives it.
struct StoreTransaction {
    typealias Arguments = [(any DatabaseValueConvertible)?]

    /// Maximum number of keys in one `IN` list; SQLite accepts 32,766 parameters.
    private static let keysPerLookup = 500
    private static let padding = 20

    let database: Database
    let hook: PublisherStore.StatementHook?

    func run(_ sql: String, _ arguments: Arguments = []) throws {
        try hook?(sql)
        try database.execute(sql, StatementArguments(arguments))
    }

    /// Runs an `INSERT`, and returns the row's number.
    func insert(_ sql: String, _ arguments: Arguments) throws -> Int64 {
        try run(sql, arguments)
        return database.lastInsertedRowID
    }

    func rows(_ sql: String, _ arguments: Arguments = []) throws -> [Row] {
        try hook?(sql)
        return try database.rows(sql, StatementArguments(arguments))
    }

    /// Returns values that are made of all rows, one row at a time, for results that would need too much memory at
    /// once.
    func values<Value>(_ sql: String, _ make: (Row) throws -> Value) throws -> [Value] {
        try hook?(sql)
        return try database.rows(sql, [], make)
    }

    /// Returns the rows of some keys, looked up in parts by the query `sql`, which ends in `IN`.
    func rows(having keys: [EntryKey], _ sql: String, _ scope: Arguments) throws -> [Row] {
        var found: [Row] = []
        var start = 0
        while start < keys.count {
            let part = keys[start..<min(start + Self.keysPerLookup, keys.count)]
            found += try rows("\(sql) \(Self.marks(part.count))", scope + Self.padded(part))
            start += part.count
        }
        return found
    }

    /// Returns a list of `?` whose length is rounded up to a multiple of ``padding``, so that few statements serve all
    /// lengths.
    private static func marks(_ count: Int) -> String {
        let steps = (count + padding - 1) / padding
        return "(" + Array(repeating: "?", count: steps * padding).joined(separator: ",") + ")"
    }

    /// Returns the keys, with the last one repeated to fill the list, which is harmless in an `IN`.
    private static func padded(_ keys: ArraySlice<EntryKey>) -> Arguments {
        var values = keys.map { Data($0.bytes) }
        while let last = values.last, values.count % padding != 0 { values.append(last) }
        return values
    }
}

extension Date {
    /// The instant as it is stored in a column.
    var timestamp: Timestamp { Timestamp(self) }
}

extension Row {
    func date(_ column: String) throws -> Date? {
        try decode(Timestamp?.self, forColumn: column)?.date
    }

    func key(_ column: String) throws -> EntryKey? {
        try decode(Data?.self, forColumn: column).flatMap { EntryKey(bytes: $0) }
    }

    func bytes(_ column: String) throws -> [UInt8]? {
        try decode(Data?.self, forColumn: column).map { [UInt8]($0) }
    }
}
