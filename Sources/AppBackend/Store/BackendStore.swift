package import GRDB
import HostSystem
package import SQLiteFiles

/// The app backend's tables: in a file of their own beside the hub's, or in the file of a hub that shares its log.
///
/// The SQL of this module is in extensions of this type.
package final class BackendStore: Sendable {
    private let database: any TableDatabase
    private let shortReads: SharedTransactions
    /// `nil` if the database's own writer puts changes together.
    private let writes: SharedTransactions?

    /// Opens or creates the file, and migrates it.
    ///
    /// - Parameters:
    ///   - path: The SQLite file.
    ///   - signs: Files that exist only if an app backend has used the file.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package init(path: String, signs: [String] = []) throws {
        let database = try TableFile(at: path, Self.opener(signs: signs))
        self.database = database
        shortReads = SharedTransactions { body in try await database.read(body) }
        writes = SharedTransactions { body in try await database.write(body) }
    }

    /// Uses tables in the file of a hub.
    package init(in hub: any TableDatabase) {
        database = hub
        shortReads = SharedTransactions { body in try await hub.read(body) }
        writes = nil
    }

    /// Copies a file into the tables of a hub that shares its log, once; payloads are encrypted with the key of its nodes.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - key: The file of its key, which is renamed with it; without one, payloads cannot be read and are left out.
    ///   - hubBox: Encrypts with the key of all nodes.
    ///   - hub: The hub's tables.
    /// - Returns: What has become of the file.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``, a `HostError`, and the errors of the hub's tables.
    package static func copy(
        _ path: String,
        key: String,
        sealedWith hubBox: PayloadBox,
        into hub: some TableDatabase
    ) async throws -> TableImport.Outcome {
        let box = HostFile.exists(key) ? try PayloadBox(keyFile: key) : nil
        let copier = TableImport(
            "accounts",
            tables: ["account", "removedAccount", "token", "audit", "device", "deviceAlias", "payload"]
        ) { table, row in
            guard table == "payload" else { return Array(row.databaseValues) }
            let (id, addressee): (Int64, String) = (row["id"], row["addressee"])
            // One that was encrypted with a lost key cannot be read anywhere.
            guard let text = box?.open(row["sealed"], id: id, addressee: addressee) else { return nil }
            let sealed = try hubBox.seal(text, id: id, addressee: addressee).databaseValue
            return zip(row.columnNames, row.databaseValues).map { $0 == "sealed" ? sealed : $1 }
        }
        return try await copier.run(from: path, opener(signs: []), with: [key], into: hub)
    }

    /// Checks a file without changing it.
    ///
    /// - Returns: The reason why it cannot be used; `nil` when it can.
    package static func problem(at path: String, signs: [String]) -> String? {
        opener(signs: signs).problem(at: path)
    }

    private static func opener(signs: [String]) -> DatabaseOpener {
        var opener = DatabaseOpener(migrator)
        opener.signs = signs
        return opener
    }

    package static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try createAccounts(db)
            try createDevices(db)
            try createPayloads(db)
        }
        migrator.registerMigration("2") { db in
            try addForeignIdentities(db)
            try addLateCalls(db)
        }
        migrator.registerMigration("3", migrate: addSenders)
        migrator.registerMigration("4") { db in
            try db.execute(sql: "ALTER TABLE account ADD COLUMN mayUseDesk INTEGER NOT NULL DEFAULT 0")
        }
        return migrator
    }

    /// Reads a few rows, in a transaction that requests share.
    func readShortly<Value: Sendable>(_ body: @escaping @Sendable (TableTransaction) throws -> Value) async throws
        -> Value
    {
        try await shortReads.run(body)
    }

    /// Reads, in its own transaction.
    func read<Value: Sendable>(_ body: @escaping @Sendable (TableTransaction) throws -> Value) async throws -> Value {
        try await database.read(body)
    }

    /// Checks whether changes can be stored; after a failed change, by writing to the file.
    ///
    /// - Returns: The reason why they cannot; `nil` if they can.
    func check() async -> String? { await database.check() }

    /// True if there is an account.
    func hasAccounts() async throws -> Bool { try await read { try $0.exists("SELECT 1 FROM account") } }

    /// Reads from the file, which an empty transaction would not do.
    func probe() async throws {
        _ = try await read { try $0.exists("SELECT 1 FROM account") }
    }

    /// Makes a change, all or nothing, and returns when the change is durable.
    ///
    /// Requests share a transaction, and one wait for the disk: see ``SharedTransactions``.
    func write<Value: Sendable>(_ body: @escaping @Sendable (TableTransaction) throws -> Value) async throws -> Value {
        guard let writes else { return try await database.write(body) }
        return try await writes.run(body)
    }

    /// Executes one statement in a transaction of its own.
    func execute(_ sql: String, _ values: [(any DatabaseValueConvertible & Sendable)?]) async throws {
        try await write { try $0.execute(sql, values) }
    }
}
