import HostSystem
import SQLiteFiles

/// The reason why the agent's database failed.
enum AgentStoreError: ObstacleError, Sendable, Equatable, CustomStringConvertible {
    /// The disk is full or failing, or another process has locked the file: the same statement may work later.
    ///
    /// Nothing was changed.
    case blocked(path: String, reason: String)
    /// The file is damaged, not an agent's, or not writable: waiting does not help.
    case unusable(path: String, reason: String)

    init(_ error: any Error, path: String) {
        guard let error = DatabaseFileError(error, path: path) else {
            self = (error as? AgentStoreError) ?? .unusable(path: path, reason: "\(error)")
            return
        }
        self =
            error.isTemporary
            ? .blocked(path: path, reason: error.reason) : .unusable(path: path, reason: error.reason)
    }

    var description: String {
        switch self {
        case .blocked(let path, let reason): "cannot write '\(path)': \(reason)"
        case .unusable(let path, let reason): "cannot use '\(path)': \(reason)"
        }
    }

    var obstacle: Obstacle? {
        switch self {
        case .blocked: Obstacle(reason: description, hint: .space)
        case .unusable: nil
        }
    }

    /// The error of a command that does not retry.
    var asAgentError: AgentError {
        switch self {
        case .blocked: AgentError(.tryLater, description, hint: .space)
        case .unusable: AgentError(.failed, description)
        }
    }
}
