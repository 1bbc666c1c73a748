import HostSystem
import SQLiteFiles

extension DatabaseFileError: ObstacleError {
    var obstacle: Obstacle? { isTemporary ? Obstacle(reason: description, hint: .space) : nil }

    /// The error of a command that does not retry.
    var asAgentError: AgentError {
        isTemporary ? AgentError(.tryLater, description, hint: .space) : AgentError(.failed, description)
    }

    /// Any error of the agent's database: what is not SQLite's is of the cause `other`.
    static func of(_ path: String, _ error: any Error) -> DatabaseFileError {
        DatabaseFileError(error, path: path) ?? DatabaseFileError(path, .other, "\(error)")
    }
}
