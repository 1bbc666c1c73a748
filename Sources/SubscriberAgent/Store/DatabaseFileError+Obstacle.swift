import HostSystem
import SQLiteFiles

extension DatabaseFileError: ObstacleError {
    var obstacle: Obstacle? { isTemporary ? Obstacle(reason: description, hint: .space) : nil }

    /// The error of a command that does not retry.
    var asAgentError: AgentError {
        isTemporary ? AgentError(.tryLater, description, hint: .space) : AgentError(.failed, description)
    }

    /// Returns an error of the agent's database; one that SQLite did not raise has the cause `other`.
    static func of(_ path: String, _ error: any Error) -> DatabaseFileError {
        DatabaseFileError(error, path: path) ?? DatabaseFileError(path, .other, reason(error))
    }
}
