import HubStore
package import SQLiteFiles

/// Backups of a hub's database, for the operator.
package enum HubBackups {
    /// Changes to the user rights with which later files are opened; does nothing if the caller's own rights apply.
    package typealias Rights = () throws -> Void

    /// Copies the database into one file; a hub may be serving from it.
    ///
    /// A file of another kind is not overwritten. `reading` is called before the database is opened, `writing` before
    /// the file is created.
    ///
    /// - Throws: ``DatabaseCopyError``, ``HubStoreError``, or a `DatabaseError`, for example if the disk is full.
    package static func write(
        database: String,
        to file: String,
        reading: Rights = {},
        writing: Rights = {}
    ) throws {
        try HubBackup.copy(database, to: file) { side in
            switch side {
            case .source: try reading()
            case .destination: try writing()
            }
        }
    }

    /// Replaces a database that no hub is using with a copy.
    ///
    /// `reading` is called before the copy is opened, `writing` before any file is created in the database's folder.
    ///
    /// - Returns: The former database, which may be of a newer version; `nil` if there was none.
    /// - Throws: The errors of ``write(database:to:reading:writing:)``; the database is then unchanged.
    package static func restore(
        _ file: String,
        to database: String,
        reading: Rights = {},
        writing: Rights = {}
    ) throws -> FormerDatabase? {
        try HubBackup.restore(file, to: database) { side in
            switch side {
            case .source: try reading()
            case .destination: try writing()
            }
        }
    }

    /// Marks a database that no hub is using as restored from a copy or a snapshot.
    ///
    /// - Throws: ``DatabaseCopyError``, ``HubStoreError``, or a `DatabaseError`; the database is then unchanged.
    package static func declareRestored(_ database: String) throws {
        try HubBackup.declareRestored(database)
    }
}
