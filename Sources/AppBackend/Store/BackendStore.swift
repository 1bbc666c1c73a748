package import GRDB
import SQLiteFiles

/// The app backend's database: one SQLite file beside the hub's.
///
/// The SQL of this module is in extensions of this type.
package final class BackendStore: Sendable {
    private static let busyTimeout: Double = 10

    /// A pool, so that readers do not wait for a writer that waits for the disk.
    private let database: DatabasePool
    private let shortReads: SharedTransactions
    private let writes: SharedTransactions

    /// Opens or creates the file, migrates it, and makes sure that commits survive a power failure.
    ///
    /// - Throws: ``BackendStoreError``, also when the file was made by a newer version.
    package init(path: String) throws(BackendStoreError) {
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(Self.busyTimeout)
            database = try DatabasePool(path: path, configuration: configuration)
            // GRDB sets NORMAL when it opens a pool.
            let synchronous = try database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = FULL")
                return try Int.fetchOne(db, sql: "PRAGMA synchronous")
            }
            guard synchronous == 2 else {
                throw BackendStoreError(reason: "'\(path)': commits cannot be made durable")
            }
            guard try !database.read(Self.migrator.hasBeenSuperseded) else {
                throw BackendStoreError(reason: "'\(path)' was written by a newer version of newswire")
            }
            try Self.migrator.migrate(besideOthers: database)
            let database = database
            shortReads = SharedTransactions { body in try await database.read(body) }
            writes = SharedTransactions { body in try await database.write(body) }
        } catch let error as BackendStoreError {
            throw error
        } catch let error as DatabaseError {
            throw BackendStoreError(error, path: path)
        } catch {
            throw BackendStoreError(reason: "'\(path)': \(error)")
        }
    }

    /// Checks a file without changing it.
    ///
    /// - Returns: The reason why it cannot be used; `nil` when it can.
    package static func problem(at path: String) -> String? { DatabaseFile.problem(at: path, keptBy: migrator) }

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

    /// Reads from the file, which an empty transaction would not do.
    func probe() async throws {
        _ = try await read { try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM account)") }
    }

    /// Makes a change, all or nothing, and returns when the change is durable.
    ///
    /// Requests share a transaction, and one wait for the disk. `body` may run more than once: see
    /// ``SharedTransactions``.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await writes.run(body)
    }
}

/// The reason why the app backend's database cannot be used.
package struct BackendStoreError: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// True if waiting can help, as with a full disk or a file locked by another process.
    package let isTemporary: Bool

    init(reason: String) {
        description = reason
        isTemporary = false
    }

    init(_ error: DatabaseError, path: String) {
        description = "'\(path)': \(error.reason)"
        isTemporary = error.isTemporary
    }
}
