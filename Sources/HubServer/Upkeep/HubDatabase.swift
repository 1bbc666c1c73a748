import GRDB
import HubStore
import SQLiteFiles

/// The hub's file as it looks to somebody who does not run the hub.
package enum HubDatabase {
    /// Looks at a hub's file without changing it.
    ///
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at path: String) -> String? { HubStore.problem(at: path) }

    /// What an error says of the file; `nil` for an error of another kind.
    ///
    /// Temporary is what may be gone without anybody's mending the file: a full or failing disk, another process.
    package static func trouble(_ error: any Error) -> (reason: String, isTemporary: Bool)? {
        (error as? DatabaseError).map { ($0.reason, $0.isTemporary) }
    }
}
