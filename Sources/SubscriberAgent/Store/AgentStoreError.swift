import GRDB
import HostSystem
import SQLiteFiles

/// Why the agent's database did not do what it was asked.
enum AgentStoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Full disk, failing disk, or another process in the way: the same statement may work later. Nothing was changed.
    case blocked(path: String, reason: String)
    /// Damaged, not ours, or not writable: will not mend itself.
    case unusable(path: String, reason: String)

    init(_ error: any Error, path: String) {
        guard let error = error as? DatabaseError else {
            self = (error as? AgentStoreError) ?? .unusable(path: path, reason: "\(error)")
            return
        }
        self =
            error.isTemporary
            ? .blocked(path: path, reason: error.reason) : .unusable(path: path, reason: error.reason)
    }

    init(_ error: HostError, path: String) {
        let reason = error.reason
        self = error.isTemporary ? .blocked(path: path, reason: reason) : .unusable(path: path, reason: reason)
    }

    var description: String {
        switch self {
        case .blocked(let path, let reason): "cannot write '\(path)': \(reason)"
        case .unusable(let path, let reason): "cannot use '\(path)': \(reason)"
        }
    }

    /// For a command that a person waits for, which does not try again by itself.
    var asAgentError: AgentError {
        switch self {
        case .blocked: AgentError(.tryLater, description, hint: .space)
        case .unusable: AgentError(.failed, description)
        }
    }
}
