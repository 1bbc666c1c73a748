import SQLiteFiles

/// The agent's file as it looks to somebody who does not run the agent.
package enum AgentDatabase {
    package static let fileName = SubscriberAgent.databaseName

    /// Looks at an agent's file without changing it.
    ///
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at path: String) -> String? {
        DatabaseFile.problem(at: path, keptBy: AgentStore.migrator)
    }
}
