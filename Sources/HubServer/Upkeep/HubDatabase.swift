import HubStore

/// The hub's file, for programs that do not run the hub.
package enum HubDatabase {
    /// Looks at a hub's file without changing it.
    ///
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at path: String) -> String? { HubStore.problem(at: path) }

    /// Why the file could not be read or written; `nil` for an error of another kind.
    ///
    /// A temporary failure can clear without repairing the file: a full or failing disk, another process.
    package static func trouble(_ error: any Error) -> (reason: String, isTemporary: Bool)? {
        StorageFailure(error).map { ($0.reason, $0.isTemporary) }
    }
}
