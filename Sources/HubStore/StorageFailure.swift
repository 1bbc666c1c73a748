import GRDB
import SQLiteFiles

/// The reason why the hub's file could not be read or written.
package struct StorageFailure: Error {
    /// A sentence for people; never contains a statement or its arguments, which may hold a secret.
    package let reason: String
    /// True if a later attempt may succeed: a full or failing disk, or a lock of another process.
    package let isTemporary: Bool

    /// `nil` if SQLite did not raise the error.
    package init?(_ error: any Error) {
        if let failure = error as? StorageFailure {
            self = failure
            return
        }
        guard let error = error as? DatabaseError else { return nil }
        (reason, isTemporary) = (error.reason, error.isTemporary)
    }
}
