import HubStore
import SQLiteFiles

/// Copies of a hub's database, for the operator.
package enum HubBackups {
    /// Takes on the rights with which files are opened from then on; does nothing where the caller's own are meant.
    package typealias Rights = () throws -> Void

    /// Copies the database into one file; a hub may be serving from it.
    ///
    /// A file of another kind is not written over. `reading` is called before the database is opened, `writing` before the file
    /// is made.
    ///
    /// - Throws: ``DatabaseCopyError``, ``HubStoreError``, or a `DatabaseError` such as of a full disk.
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

    /// Puts a copy in the place of a database that no hub uses.
    ///
    /// `reading` is called before the copy is opened, `writing` before anything is made in the database's folder.
    ///
    /// - Returns: Where the former database is kept, `nil` when there was none.
    /// - Throws: As ``write(database:to:reading:writing:)``; the database is as it was then.
    package static func restore(
        _ file: String,
        to database: String,
        reading: Rights = {},
        writing: Rights = {}
    ) throws -> String? {
        try HubBackup.restore(file, to: database) { side in
            switch side {
            case .source: try reading()
            case .destination: try writing()
            }
        }
    }

    /// Notes that a database that no hub uses was put back from a copy or a snapshot.
    ///
    /// - Throws: ``DatabaseCopyError``, ``HubStoreError``, or a `DatabaseError`; the database is as it was then.
    package static func declareRestored(_ database: String) throws {
        try HubBackup.declareRestored(database)
    }
}
