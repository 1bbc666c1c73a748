import GRDB
import SQLiteFiles

/// Why the hub's file could not be read or written.
package struct StorageFailure: Error {
    /// For people; never a statement or its arguments, which may hold a secret.
    package let reason: String
    /// The same may work later: a full or failing disk, or another process in the way.
    package let isTemporary: Bool

    /// `nil` for an error that is not SQLite's.
    package init?(_ error: any Error) {
        guard let error = error as? DatabaseError else { return nil }
        (reason, isTemporary) = (error.reason, error.isTemporary)
    }
}
