internal import Crypto
internal import Foundation
package import GRDB
internal import HostSystem

/// Copies a store's own file into the tables of a hub that shares its log, once.
///
/// The hub's table `importedFile` has the digest of the content, so that a copy that was interrupted goes on, and a file
/// with other content is left alone. The file stays, renamed.
package struct TableImport: Sendable {
    /// The end of the file's name when it has been copied.
    package static let suffix = ".imported"
    private static let rowsAtOnce = 100

    package enum Outcome: Sendable, Equatable {
        /// There is no file, or nothing in it.
        case nothing
        /// All rows are in the hub's tables now.
        case copied(rows: Int)
        /// The hub has other content, so that the file is left alone.
        case differs
    }

    /// The name in the hub's table.
    private let name: String
    /// In the order in which rows can refer to others.
    private let tables: [String]
    /// Changes a row before it is copied; `nil` leaves it out.
    private let convert: @Sendable (_ table: String, _ row: Row) throws -> [DatabaseValue]?

    package init(
        _ name: String,
        tables: [String],
        convert: @escaping @Sendable (_ table: String, _ row: Row) throws -> [DatabaseValue]? = { _, row in
            Array(row.databaseValues)
        }
    ) {
        self.name = name
        self.tables = tables
        self.convert = convert
    }

    /// True while a file is being copied, so that the tables are not complete.
    package static func isRunning(_ hub: TableTransaction) throws -> Bool {
        try hub.exists("SELECT 1 FROM importedFile WHERE isComplete = 0")
    }

    /// Copies a file that nobody uses.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - opener: Opens the file, and brings it to the present schema.
    ///   - write: Makes a change of the hub's tables.
    /// - Returns: What has become of the file.
    /// - Throws: ``DatabaseFileError``, a `HostError`, and the errors of `write`.
    package func run(
        from path: String,
        _ opener: DatabaseOpener,
        write: (@escaping @Sendable (TableTransaction) throws -> Bool) async throws -> Bool
    ) async throws -> Outcome {
        guard HostFile.exists(path) else { return .nothing }
        let file = try opener.pool(at: path)
        let copied: Int?
        do {
            try opener.migrate(file)
            copied = try await copy(file, write)
            try file.close()
        } catch {
            try? file.close()
            throw error
        }
        guard let copied else { return .differs }
        guard copied > 0 else { return .nothing }
        for source in DatabaseCopier.files(of: path) where HostFile.exists(source) {
            try HostFile.move(source, to: path + Self.suffix + source.dropFirst(path.count))
        }
        return .copied(rows: copied)
    }

    /// - Returns: Number of rows; `nil` if the hub has other content.
    private func copy(
        _ file: DatabasePool,
        _ write: (@escaping @Sendable (TableTransaction) throws -> Bool) async throws -> Bool
    ) async throws -> Int? {
        let (name, tables) = (name, tables)
        let isEmpty = try await file.read { db in try tables.allSatisfy { try !db.exists("SELECT 1 FROM \($0)") } }
        guard !isEmpty else { return 0 }
        let digest = try await file.read { db in try self.digest(of: db) }
        let isMine = try await write { hub in
            let known: Data? = try hub.value("SELECT digest FROM importedFile WHERE name = ?", [name])
            if let known { return known == digest }
            for table in tables where try hub.exists("SELECT 1 FROM \(table)") { return false }
            try hub.execute("INSERT INTO importedFile (name, digest, isComplete) VALUES (?, ?, 0)", [name, digest])
            return true
        }
        guard isMine else { return nil }
        var count = 0
        for table in tables {
            let (columns, rows) = try await file.read { [convert] db in
                let statement = try db.makeStatement(sql: "SELECT * FROM \(table) ORDER BY \(Self.order(db, table))")
                return (statement.columnNames, try Row.fetchAll(statement).compactMap { try convert(table, $0) })
            }
            let places = columns.map { _ in "?" }.joined(separator: ", ")
            let sql = "INSERT OR IGNORE INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(places))"
            for begin in stride(from: 0, to: rows.count, by: Self.rowsAtOnce) {
                let some = Array(rows[begin..<min(begin + Self.rowsAtOnce, rows.count)])
                _ = try await write { hub in
                    for row in some { try hub.execute(sql, row) }
                    return true
                }
            }
            count += rows.count
        }
        try await keepSequences(file, write)
        _ = try await write { hub in
            try hub.execute("UPDATE importedFile SET isComplete = 1 WHERE name = ?", [name])
            return true
        }
        return count
    }

    /// Keeps keys of deleted rows from being used again.
    private func keepSequences(
        _ file: DatabasePool,
        _ write: (@escaping @Sendable (TableTransaction) throws -> Bool) async throws -> Bool
    ) async throws {
        let tables = Set(tables)
        let sequences = try await file.read { db in
            try db.rows("SELECT name, seq FROM sqlite_sequence ORDER BY name") {
                ($0["name"] as String, $0["seq"] as Int64)
            }
        }
        for (table, last) in sequences where tables.contains(table) {
            _ = try await write { hub in
                try hub.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", [last, table])
                if hub.changesCount == 0 {
                    try hub.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table, last])
                }
                return true
            }
        }
    }

    /// A digest of all rows.
    private func digest(of db: Database) throws -> Data {
        var hash = SHA256()
        for table in tables {
            let rows = try Row.fetchCursor(db, sql: "SELECT * FROM \(table) ORDER BY \(Self.order(db, table))")
            while let row = try rows.next() { hash.update(data: Data("\(table) \(row.databaseValues)\n".utf8)) }
        }
        return Data(hash.finalize())
    }

    /// The columns of a table's key.
    private static func order(_ db: Database, _ table: String) throws -> String {
        let key: [String] = try db.values("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [table])
        return key.isEmpty ? "rowid" : key.joined(separator: ", ")
    }
}
