import HubStore

/// The hub's file as it looks to somebody who does not run the hub.
package enum HubDatabase {
    /// Looks at a hub's file without changing it.
    ///
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at path: String) -> String? { HubStore.problem(at: path) }
}
