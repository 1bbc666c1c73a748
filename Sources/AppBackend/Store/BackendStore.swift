package import GRDB
import SQLiteFiles

/// The app backend's database: one SQLite file beside the hub's.
///
/// The SQL of this module is in extensions of this type.
package final class BackendStore: Sendable {
    /// A pool, so that readers do not wait for a writer that waits for the disk.
    private let database: DatabasePool
    private let shortReads: SharedTransactions
    private let writes: SharedTransactions
    private let health: DatabaseHealth

    /// Opens or creates the file, and migrates it.
    ///
    /// - Parameters:
    ///   - path: The SQLite file.
    ///   - signs: Files that exist only if an app backend has used the file.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package init(path: String, signs: [String] = []) throws {
        let opener = Self.opener(signs: signs)
        let database = try opener.pool(at: path)
        try opener.migrate(database)
        let health = DatabaseHealth()
        self.database = database
        self.health = health
        shortReads = SharedTransactions { body in try await database.read(body) }
        writes = SharedTransactions { body in try await health.noting { try await database.write(body) } }
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
    func readShortly<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await shortReads.run(body)
    }

    /// Reads, in its own transaction.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.read(body)
    }

    /// Checks whether changes can be stored; after a failed change, by writing to the file.
    ///
    /// - Returns: The reason why they cannot; `nil` if they can.
    func check() async -> String? { await health.check(database) }

    /// Reads from the file, which an empty transaction would not do.
    func probe() async throws {
        _ = try await read { try $0.exists("SELECT 1 FROM account") }
    }

    /// Makes a change, all or nothing, and returns when the change is durable.
    ///
    /// Requests share a transaction, and one wait for the disk: see ``SharedTransactions``.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await writes.run(body)
    }

    /// Executes one statement in a transaction of its own.
    func execute(_ sql: String, _ arguments: StatementArguments) async throws {
        try await write { try $0.execute(sql, arguments) }
    }
}
