import GRDB
package import SQLiteFiles

/// Backs up and restores a hub's file.
///
/// Copies and restored databases carry a mark. A hub that starts with a marked database knows that messages may have
/// been accepted after the copy was made, and announces their loss.
package enum HubBackup {
    /// The `user_version` of a copy; a hub's own file has 0.
    static let copyMark = 1

    static let copier = DatabaseCopier(of: "a hub's", Schema.migrator) { db in
        try db.tableExists("hub") && db.tableExists("log")
    }

    /// Copies a hub's file, which a hub may be using, into one file without a write-ahead log.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseCopyError``, ``SQLiteFiles/DatabaseFileError``, or a `DatabaseError`, for example if
    ///   the disk is full.
    package static func copy(
        _ source: String,
        to destination: String,
        entering: DatabaseCopier.Entering = { _ in }
    ) throws {
        try copier.copy(source, to: destination, entering: entering, finish: finish)
    }

    /// Replaces a hub's file, which must not be in use, with a copy.
    ///
    /// Agents that have read past the end of the copy get a gap.
    ///
    /// - Returns: The replaced database, which may be of a newer version; `nil` if there was none.
    /// - Throws: The errors of ``copy(_:to:entering:)`` if the copy cannot be used; the hub's file is then unchanged.
    package static func restore(
        _ copy: String,
        to database: String,
        entering: DatabaseCopier.Entering = { _ in }
    ) throws -> FormerDatabase? {
        try copier.restore(copy, to: database, entering: entering, finish: finish, finishKept: mark)
    }

    /// Marks a hub's file, which must not be in use, as a copy restored by other means.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseCopyError`` or ``SQLiteFiles/DatabaseFileError`` if this program cannot use the file.
    package static func declareRestored(_ database: String) throws { try copier.change(database, mark) }

    /// Marks a copy, and removes what must not be restored, unless the copy is for a node that follows the log from there.
    private static func finish(_ db: Database) throws {
        try mark(db)
        if try !Transaction(db).followsLog() { try revokeTokens(db) }
    }

    /// Ends what may have been ended after a copy was made: tokens of users, links, and sessions of operators; and removes
    /// secure payloads.
    static func revokeTokens(_ db: Database) throws {
        guard try HubStore.hasPeople(TableTransaction(db)) else { return }
        // What is deleted must not stay in the file.
        try db.execute(sql: "PRAGMA secure_delete = ON")
        for table in ["token", "payload", "invitation", "operatorInvitation", "operatorSession"] {
            try db.execute(sql: "DELETE FROM \(table)")
        }
    }

    private static func mark(_ db: Database) throws { try db.execute(sql: "PRAGMA user_version = \(copyMark)") }
}
