import HubStore

/// Checks of the hub's file for programs that do not run the hub.
package enum HubDatabase {
    /// Checks a hub's file without changing it.
    ///
    /// - Returns: The reason why it cannot be used; `nil` if it can.
    package static func problem(at path: String) -> String? { HubStore.problem(at: path) }

    /// The reason why the file could not be read or written; `nil` for an error of another kind.
    ///
    /// A temporary failure can clear without repairing the file: a full or failing disk, or a lock of another process.
    package static func trouble(_ error: any Error) -> (reason: String, isTemporary: Bool)? {
        StorageFailure(error).map { ($0.reason, $0.isTemporary) }
    }
}
