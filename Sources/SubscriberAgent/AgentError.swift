internal import HostSystem

/// Why an agent's command ends without having done its work: one line, what to do, and the exit code.
package struct AgentError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Which of the exit codes of `style.md` §3 the command ends with.
    package enum Exit: Int32, Sendable {
        case failed = 1
        case usage = 64
        case unreachable = 69
        case tryLater = 75
        case configuration = 78
    }

    package let exit: Exit
    /// What was tried, on what, and why it failed.
    package let description: String
    /// What to do, for a `hint:` line.
    package let hint: String?

    package init(_ exit: Exit, _ description: String, hint: String? = nil) {
        self.exit = exit
        self.description = description
        self.hint = hint
    }

    init(_ error: HostError) {
        self.init(error.isTemporary ? .tryLater : .configuration, "\(error)")
    }
}
