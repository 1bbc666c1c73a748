package import GRDB
internal import Synchronization

/// The ability of a server's database to store changes: after a failed change until one succeeds, it cannot.
package final class DatabaseHealth: Sendable {
    /// Free bytes required for an attempt to recover: with fewer, the next change would fail, and health would keep
    /// changing.
    private static let roomToRecover = 256 * 1_024

    private let lastFailure = Mutex<String?>(nil)

    package init() {}

    /// The reason why the last change, or the last check, failed; `nil` if it succeeded.
    package var failure: String? { lastFailure.withLock { $0 } }

    /// Makes a change, and notes whether the database could store it.
    package func noting<Value>(_ change: () async throws -> Value) async throws -> Value {
        do {
            let value = try await change()
            note(nil)
            return value
        } catch {
            // Other errors say nothing about the disk.
            if error is DatabaseError || error is DatabaseFileError { note(DatabaseFileError.reason(error)) }
            throw error
        }
    }

    /// Reads from the database, and writes to it if the last change failed: it recovers even if nobody changes anything.
    ///
    /// - Returns: The reason why the database cannot be used; `nil` if it can.
    package func check(_ database: DatabasePool) async -> String? {
        do {
            let version = try await database.read { db in
                _ = try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema)")
                return try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
            }
            guard let failure else { return nil }
            // A small change may still fit into the write-ahead log on a full disk.
            if let space = DiskSpace(at: database.path), space.available < Self.roomToRecover { return failure }
            try await noting {
                // Writes the first page, although nothing changes.
                try await database.write { try $0.execute(sql: "PRAGMA user_version = \(version)") }
            }
            return nil
        } catch {
            let reason = DatabaseFileError.reason(error)
            if !(error is CancellationError) { note(reason) }
            return reason
        }
    }

    private func note(_ reason: String?) { lastFailure.withLock { $0 = reason } }
}
