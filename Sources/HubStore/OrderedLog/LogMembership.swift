import GRDB
package import HubProtocol
import SQLiteFiles

/// The tie between a hub's file, which must not be in use, and the log that it follows.
package enum LogMembership {
    /// The number of the last entry that a file contains; `nil` if it follows no log.
    ///
    /// - Throws: A `DatabaseError`.
    package static func position(of database: String) throws -> UInt64? {
        let queue = try DatabaseFile.reader(database)
        defer { try? queue.close() }
        return try queue.read { db in
            let transaction = Transaction(db)
            return try transaction.followsLog() ? transaction.logPlace().number : nil
        }
    }

    /// The log that a file follows; `nil` if it follows none.
    ///
    /// - Throws: A `DatabaseError`.
    package static func incarnation(of database: String) throws -> String? {
        let queue = try DatabaseFile.reader(database)
        defer { try? queue.close() }
        return try queue.read { db in
            let transaction = Transaction(db)
            return try transaction.followsLog() ? transaction.newestEpoch() : nil
        }
    }

    /// The proof of the key that the nodes of the log have in common; `nil` if a file has none yet.
    ///
    /// - Throws: A `DatabaseError`.
    package static func keyProof(of database: String) throws -> String? {
        let queue = try DatabaseFile.reader(database)
        defer { try? queue.close() }
        // The file may have an earlier schema.
        return try queue.read { db in try db.tableExists("keyProof") ? try Transaction(db).keyProof() : nil }
    }

    /// Makes the content of a file the beginning of a new log, whose name is `incarnation`.
    ///
    /// Messages that other nodes had accepted after it are lost; agents get a gap instead.
    ///
    /// - Throws: ``DatabaseCopyError``, ``HubStoreError`` or a `DatabaseError`; the file is then unchanged.
    package static func begin(_ database: String, incarnation: String, at: Timestamp) throws {
        try HubBackup.copier.change(database) { db in
            try db.inTransaction(.immediate) {
                let transaction = Transaction(db)
                // A log that goes on from an older copy must not bring back what was revoked since.
                if try transaction.isCopy() { try HubBackup.revokeTokens(db) }
                _ = try transaction.beginEpoch(named: incarnation, at: at)
                _ = try transaction.noteLoss(epoch: incarnation, at: at)
                try transaction.set(LogPlace(number: 0, entry: .random()))
                try transaction.dropKeyProof()
                return .commit
            }
        }
    }

    /// Ends the tie: the file belongs to a hub with one node from now on.
    ///
    /// - Throws: The errors of ``begin(_:incarnation:at:)``; the file is then unchanged.
    package static func end(_ database: String) throws {
        try HubBackup.copier.change(database) { db in
            try db.inTransaction(.immediate) {
                try db.execute(sql: "DELETE FROM logPlace")
                try Transaction(db).dropKeyProof()
                return .commit
            }
        }
    }
}

extension Transaction {
    /// Removes the proof of the nodes' key from the file of a stopped hub, with which another log begins, or none.
    fileprivate func dropKeyProof() throws {
        // The file may have an earlier schema.
        if try db.tableExists("keyProof") { try db.execute(sql: "DELETE FROM keyProof") }
    }
}
