import HostSystem
import Settings

/// Failures of users who may not use the state of the package's services.
enum Administrator {
    /// Longest command that a hint repeats, in bytes.
    private static let maximumCommand = 400

    /// Returns the failure for a state directory of another user.
    ///
    /// - Returns: `nil` if this user can use the directory, or if there is none.
    static func refusal(_ directory: StateDirectory, attempt: String) -> Failure? {
        guard let owner = directory.foreignOwner else { return nil }
        return Failure(
            .badConfiguration,
            "\(attempt): '\(directory.path)' belongs to '\(owner)'",
            hint: sudoCommand()
        )
    }

    /// A hint for agents without a connection string.
    static var listenHint: String {
        guard HubFiles.directory(state: nil)?.foreignOwner != nil else {
            return """
                start a hub with 'newswire hub', or pass the Listen string of another with --connection-file PATH; \
                'newswire hub keys' on its machine shows it
                """
        }
        return """
            sudo newswire hub keys --local | sed -n 's/^Listen: //p' > hub.connection, and pass --connection-file \
            hub.connection
            """
    }

    /// Returns this command with the rights of root.
    static func sudoCommand(_ arguments: [String] = CommandLine.arguments) -> String {
        // A program that is not on root's PATH needs its path.
        let program = arguments.first.map { $0.contains("/") ? $0 : "newswire" } ?? "newswire"
        let words = ["sudo", program.shellWord] + arguments.dropFirst().map(\.shellWord)
        let command = words.joined(separator: " ")
        let isShort = command.utf8.count <= maximumCommand && command == TerminalText.safe(command)
        return isShort ? command : "run this command with sudo"
    }
}
