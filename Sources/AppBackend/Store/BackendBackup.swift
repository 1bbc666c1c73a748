import GRDB
package import SQLiteFiles

/// Backups of an app backend's file, without the data that must not be restored: tokens and payloads.
package enum BackendBackup {
    private static let copier = DatabaseCopier(of: "an app backend's", BackendStore.migrator) { db in
        try db.tableExists("account") && db.tableExists("token")
    }

    /// Copies a file, which an app backend may be using, into one file.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseCopyError``, ``SQLiteFiles/DatabaseFileError``, or a `DatabaseError`, for example for a
    ///   full disk.
    package static func copy(
        _ source: String,
        to destination: String,
        entering: DatabaseCopier.Entering = { _ in }
    ) throws {
        try copier.copy(source, to: destination, entering: entering, finish: strip)
    }

    /// Replaces a file that is not in use with a backup.
    ///
    /// Afterwards no token is valid: some may have been revoked since the backup was made.
    ///
    /// - Returns: The replaced database, which may be of a newer version; `nil` if there was none.
    /// - Throws: As ``copy(_:to:entering:)`` when the backup cannot be used; the file is then unchanged.
    package static func restore(
        _ copy: String,
        to database: String,
        entering: DatabaseCopier.Entering = { _ in }
    ) throws -> FormerDatabase? {
        try copier.restore(copy, to: database, entering: entering, finish: strip)
    }

    /// Revokes all tokens in a file that is not in use and was restored by other means.
    ///
    /// - Throws: As ``copy(_:to:entering:)``.
    package static func declareRestored(_ database: String) throws { try copier.change(database, revokeTokens) }

    private static func strip(_ db: Database) throws {
        try revokeTokens(db)
        try db.execute(sql: "DELETE FROM payload")
        // Deleted rows stay in the file until their pages are reused.
        try db.execute(sql: "VACUUM")
    }

    private static func revokeTokens(_ db: Database) throws { try db.execute(sql: "DELETE FROM token") }
}
