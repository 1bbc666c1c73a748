import GRDB
package import SQLiteFiles

/// Backups of an app backend's file, without the data that must not be restored: tokens and payloads.
package enum BackendBackup {
    private static let copier = DatabaseCopier(of: "an app backend's", BackendStore.migrator) { db in
        try db.tableExists("account") && db.tableExists("token")
    }

    /// Switches to the rights with which files are opened from then on; an empty closure keeps the caller's rights.
    package typealias Rights = () throws -> Void

    /// Copies a file, which an app backend may be using, into one file.
    ///
    /// `reading` is called before the file is opened, `writing` before the copy is made.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseCopyError``, ``SQLiteFiles/DatabaseFileError``, or a `DatabaseError`, for example for a
    ///   full disk.
    package static func write(
        database: String,
        to file: String,
        reading: Rights = {},
        writing: Rights = {}
    ) throws {
        try copier.copy(
            database,
            to: file,
            entering: { try $0 == .source ? reading() : writing() },
            finish: strip
        )
    }

    /// Replaces a file that is not in use with a backup.
    ///
    /// Afterwards no token is valid: some may have been revoked since the backup was made. `reading` is called before
    /// the backup is opened, `writing` before anything is created in the folder of the file.
    ///
    /// - Returns: The replaced database, which may be of a newer version; `nil` if there was none.
    /// - Throws: As ``write(database:to:reading:writing:)`` when the backup cannot be used; the file is then
    ///   unchanged.
    package static func restore(
        _ file: String,
        to database: String,
        reading: Rights = {},
        writing: Rights = {}
    ) throws -> FormerDatabase? {
        try copier.restore(
            file,
            to: database,
            entering: { try $0 == .source ? reading() : writing() },
            finish: strip
        )
    }

    /// Revokes all tokens in a file that is not in use and was restored by other means.
    ///
    /// - Throws: As ``write(database:to:reading:writing:)``.
    package static func declareRestored(_ database: String) throws { try copier.change(database, revokeTokens) }

    private static func strip(_ db: Database) throws {
        try revokeTokens(db)
        try db.execute(sql: "DELETE FROM payload")
        // Deleted rows stay in the file until their pages are reused.
        try db.execute(sql: "VACUUM")
    }

    private static func revokeTokens(_ db: Database) throws { try db.execute(sql: "DELETE FROM token") }
}
