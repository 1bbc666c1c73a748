import HubStore

/// The hub's file as it looks to somebody who does not run the hub.
package enum HubDatabase {
    /// Looks at a hub's file without changing it.
    ///
    /// - Parameter name: A path, or a `file:` URI that SQLite opens.
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at name: String) -> String? { HubStore.problem(at: name) }
}
