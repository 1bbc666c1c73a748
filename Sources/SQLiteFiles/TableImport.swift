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
    /// Bytes of rows after which a change ends: an entry of the log must fit into a message, by default of 1 MiB.
    private static let bytesAtOnce = 256 << 10

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
    ///   - companions: Files that are renamed with it.
    ///   - hub: The hub's tables.
    /// - Returns: What has become of the file.
    /// - Throws: ``DatabaseFileError``, a `HostError`, and the errors of the hub's tables.
    package func run(
        from path: String,
        _ opener: DatabaseOpener,
        with companions: [String] = [],
        into hub: some TableDatabase
    ) async throws -> Outcome {
        guard HostFile.exists(path) else { return .nothing }
        let file = try opener.pool(at: path)
        let copied: Int?
        do {
            try opener.migrate(file)
            copied = try await copy(file, into: hub)
            try file.close()
        } catch {
            try? file.close()
            throw error
        }
        guard let copied else { return .differs }
        guard copied > 0 else { return .nothing }
        // The database last: as long as it is there, the rest is done at the next start.
        for source in companions + DatabaseCopier.files(of: path).reversed() where HostFile.exists(source) {
            let name = source.hasPrefix(path) ? path + Self.suffix + source.dropFirst(path.count) : source + Self.suffix
            try HostFile.move(source, to: name)
        }
        return .copied(rows: copied)
    }

    private enum Standing {
        case begun, complete, foreign
    }

    /// - Returns: Number of rows in the file; `nil` if the hub has other content.
    private func copy(_ file: DatabasePool, into hub: some TableDatabase) async throws -> Int? {
        let (name, tables) = (name, tables)
        let all = try await file.read { db in try tables.reduce(0) { try $0 + db.count($1) } }
        guard all > 0 else { return 0 }
        let digest = try await file.read { db in try self.digest(of: db) }
        let standing = try await hub.write { hub -> Standing in
            let known = try hub.row("SELECT digest, isComplete FROM importedFile WHERE name = ?", [name])
            if let known {
                guard known["digest"] as Data == digest else { return .foreign }
                return known["isComplete"] ? .complete : .begun
            }
            for table in tables where try hub.exists("SELECT 1 FROM \(table)") { return .foreign }
            try hub.execute("INSERT INTO importedFile (name, digest, isComplete) VALUES (?, ?, 0)", [name, digest])
            return .begun
        }
        switch standing {
        case .foreign: return nil
        // What has been deleted in the hub since must not come back.
        case .complete: return all
        case .begun: break
        }
        for table in tables { try await copy(table, of: file, into: hub) }
        try await keepSequences(file, into: hub)
        try await hub.write { hub in
            try hub.execute("UPDATE importedFile SET isComplete = 1 WHERE name = ?", [name])
        }
        return all
    }

    private func copy(_ table: String, of file: DatabasePool, into hub: some TableDatabase) async throws {
        var last: [DatabaseValue]?
        while true {
            let page = try await file.read { [last] db in try self.page(of: table, after: last, db) }
            guard let end = page.last else { return }
            last = end
            let places = page.columns.map { _ in "?" }.joined(separator: ", ")
            let sql = "INSERT OR IGNORE INTO \(table) (\(page.columns.joined(separator: ", "))) VALUES (\(places))"
            try await hub.write { hub in for row in page.rows { try hub.execute(sql, row) } }
        }
    }

    private struct Page: Sendable {
        let columns: [String]
        var rows: [[DatabaseValue]] = []
        /// The key of the last row that was read; `nil` if there was none.
        var last: [DatabaseValue]?
    }

    /// Reads the rows after a key, up to ``bytesAtOnce``.
    private func page(of table: String, after key: [DatabaseValue]?, _ db: Database) throws -> Page {
        let (names, columns) = try Self.columns(of: table, db)
        let places = names.map { _ in "?" }.joined(separator: ", ")
        let order = names.joined(separator: ", ")
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(columns.joined(separator: ", ")) FROM \(table)
                \(key == nil ? "" : "WHERE (\(order)) > (\(places))") ORDER BY \(order)
                """,
            arguments: StatementArguments(key ?? [])
        )
        var page = Page(columns: columns)
        var bytes = 0
        while bytes < Self.bytesAtOnce, let row = try rows.next() {
            page.last = names.map { row[$0] }
            guard let values = try convert(table, row) else { continue }
            page.rows.append(values)
            bytes += values.reduce(0) { $0 + $1.encoded.count }
        }
        return page
    }

    /// Keeps keys of deleted rows from being used again.
    private func keepSequences(_ file: DatabasePool, into hub: some TableDatabase) async throws {
        let tables = Set(tables)
        let sequences = try await file.read { db in
            try db.rows("SELECT name, seq FROM sqlite_sequence ORDER BY name") {
                ($0["name"] as String, $0["seq"] as Int64)
            }
        }
        for (table, last) in sequences where tables.contains(table) {
            try await hub.write { hub in
                try hub.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", [last, table])
                if hub.changesCount == 0 {
                    try hub.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table, last])
                }
            }
        }
    }

    /// A digest of all rows.
    private func digest(of db: Database) throws -> Data {
        var hash = SHA256()
        for table in tables {
            hash.update(data: Data("\(table)\n".utf8))
            let (key, columns) = try Self.columns(of: table, db)
            let rows = try Row.fetchCursor(
                db,
                sql: "SELECT \(columns.joined(separator: ", ")) FROM \(table) ORDER BY \(key.joined(separator: ", "))"
            )
            while let row = try rows.next() { for value in row.databaseValues { hash.update(data: value.encoded) } }
        }
        return Data(hash.finalize())
    }

    /// The columns of a table's key, and all of its columns.
    ///
    /// Without a key it is the number of the row, which is copied as well: otherwise a copy that goes on would repeat rows.
    private static func columns(of table: String, _ db: Database) throws -> (key: [String], all: [String]) {
        let all: [String] = try db.values("SELECT name FROM pragma_table_info(?) ORDER BY cid", [table])
        let key: [String] = try db.values("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [table])
        return key.isEmpty ? (["rowid"], ["rowid"] + all) : (key, all)
    }
}

extension DatabaseValue {
    /// The value in bytes, unambiguous beside others.
    fileprivate var encoded: Data {
        func counted(_ kind: UInt8, _ bytes: some Collection<UInt8>) -> Data {
            Data([kind]) + withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { Data($0) } + bytes
        }
        func fixed(_ kind: UInt8, _ bits: UInt64) -> Data {
            Data([kind]) + withUnsafeBytes(of: bits.bigEndian) { Data($0) }
        }
        return switch storage {
        case .null: Data([0])
        case .int64(let number): fixed(1, UInt64(bitPattern: number))
        case .double(let number): fixed(2, number.bitPattern)
        case .string(let text): counted(3, text.utf8)
        case .blob(let data): counted(4, data)
        }
    }
}
