import HubStore

/// Copies of a hub's database, for the operator.
package enum HubBackups {
    /// Copies the database into one file; a hub may be serving from it.
    ///
    /// A file of another kind is not written over.
    ///
    /// - Throws: ``HubBackupError``, ``HubStoreError``, or a `DatabaseError` such as of a full disk.
    package static func write(database: String, to file: String) throws {
        try HubBackup.copy(database, to: file)
    }

    /// Puts a copy in the place of a database that no hub uses.
    ///
    /// - Returns: Where the former database is kept, `nil` when there was none.
    /// - Throws: As ``write(database:to:)``; the database is as it was then.
    package static func restore(_ file: String, to database: String) throws -> String? {
        try HubBackup.restore(file, to: database)
    }
}
