import GRDB
package import SQLiteFiles

/// Copies of a hub's file.
///
/// A copy bears a mark, and so does a database that was restored: the hub that starts with it knows that messages may have
/// been accepted after the copy was made, and announces their loss.
package enum HubBackup {
    /// The `user_version` of a copy; a hub's own file has 0.
    static let copyMark = 1

    private static let copier = DatabaseCopier(of: "a hub's") { db, path in
        guard try db.tableExists("hub"), try db.tableExists("log") else { return false }
        guard try !Schema.migrator.hasBeenSuperseded(db) else { throw HubStoreError.newerSchema(path: path) }
        return true
    }

    /// Copies a hub's file, which a hub may be serving from, into one file without a log beside it.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseCopyError``, ``HubStoreError``, or a `DatabaseError` such as of a full disk.
    package static func copy(
        _ source: String,
        to destination: String,
        entering: DatabaseCopier.Entering = { _ in }
    ) throws {
        try copier.copy(source, to: destination, entering: entering, finish: mark)
    }

    /// Puts a copy in the place of a hub's file that nobody uses.
    ///
    /// Agents are told of a gap when they pass the end of the copy.
    ///
    /// - Returns: Where the replaced file was moved to, `nil` when there was none.
    /// - Throws: As ``copy(_:to:entering:)`` when the copy cannot be used; the hub's file is as it was then.
    package static func restore(
        _ copy: String,
        to database: String,
        entering: DatabaseCopier.Entering = { _ in }
    ) throws -> String? {
        try copier.restore(copy, to: database, entering: entering, finish: mark, finishKept: mark)
    }

    /// Marks a hub's file that nobody uses as a copy: somebody has put it back by other means.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseCopyError`` or ``HubStoreError`` when it is not a hub's file that this program can use.
    package static func declareRestored(_ database: String) throws { try copier.change(database, mark) }

    private static func mark(_ db: Database) throws { try db.execute(sql: "PRAGMA user_version = \(copyMark)") }
}
