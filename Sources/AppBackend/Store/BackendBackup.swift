import GRDB
import SQLiteFiles

/// Copies of an app backend's file, without what must not outlive its time: tokens and payloads.
package enum BackendBackup {
    private static let copier = DatabaseCopier(of: "an app backend's") { db, path in
        guard try db.tableExists("account"), try db.tableExists("token") else { return false }
        guard try !BackendStore.migrator.hasBeenSuperseded(db) else {
            throw BackendStoreError(reason: "'\(path)' was written by a newer newswire")
        }
        return true
    }

    /// Takes on the rights with which files are opened from then on; does nothing where the caller's own are meant.
    package typealias Rights = () throws -> Void

    /// Copies a file, which an app backend may be using, into one file.
    ///
    /// `reading` is called before the file is opened, `writing` before the copy is made.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseCopyError``, ``BackendStoreError``, or a `DatabaseError` such as of a full disk.
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

    /// Replaces a file that no process uses with a copy.
    ///
    /// No token is valid then: some may have been revoked since the copy was made. `reading` is called before the copy is
    /// opened, `writing` before anything is made in the folder of the file.
    ///
    /// - Returns: Where the replaced file was moved to, `nil` when there was none.
    /// - Throws: As ``write(database:to:reading:writing:)`` when the copy cannot be used; the file is as it was then.
    package static func restore(
        _ file: String,
        to database: String,
        reading: Rights = {},
        writing: Rights = {}
    ) throws -> String? {
        try copier.restore(
            file,
            to: database,
            entering: { try $0 == .source ? reading() : writing() },
            finish: strip
        )
    }

    /// Revokes all tokens of a file that no process uses, and that was restored by other means.
    ///
    /// - Throws: As ``write(database:to:reading:writing:)``.
    package static func declareRestored(_ database: String) throws { try copier.change(database, revokeTokens) }

    private static func strip(_ db: Database) throws {
        try revokeTokens(db)
        try db.execute(sql: "DELETE FROM payload")
        // Deleted rows stay in the file until their pages are used again.
        try db.execute(sql: "VACUUM")
    }

    private static func revokeTokens(_ db: Database) throws { try db.execute(sql: "DELETE FROM token") }
}
