package import GRDB
import SQLiteFiles

/// The app backend's memory: one SQLite file beside the hub's.
///
/// SQL of this module is in extensions of it.
package final class BackendStore: Sendable {
    private static let busyTimeout: Double = 10

    /// Readers do not wait for a writer whose commit waits for the disk.
    private let database: DatabasePool
    private let shortReads: SharedTransactions
    private let writes: SharedTransactions

    /// Opens or makes the file, migrates it, and makes sure that a commit survives a power cut.
    ///
    /// - Throws: ``BackendStoreError``; also when the file was made by a newer version.
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
                throw BackendStoreError(reason: "'\(path)' was written by a newer newswire")
            }
            try Self.migrator.migrate(database)
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

    /// Looks at a file without changing it.
    ///
    /// - Returns: Why it cannot be used; `nil` when it can.
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
            try addSenders(db)
        }
        return migrator
    }

    /// Reads a few rows, in a transaction that requests share.
    func readShortly<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await shortReads.run(body)
    }

    /// Reads, in a transaction of its own.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.read(body)
    }

    /// Reads from the file; an empty transaction would not.
    func probe() async throws {
        _ = try await read { try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM account)") }
    }

    /// Changes, all or nothing, and returns when the change is durable.
    ///
    /// Requests share a transaction, and one wait for the disk. `body` may run more than once: ``SharedTransactions``.
    func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await writes.run(body)
    }
}

/// Why the app backend's database cannot be used.
package struct BackendStoreError: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// True if waiting can help: a full disk, a file held by another process.
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
