import ArgumentParser
import HostSystem

/// Names of commands that a mistyped one may mean.
enum CommandName {
    /// Returns the whole command that `arguments`, which begin with the program, probably mean.
    ///
    /// Only a word where a command is expected is compared, and not a value of an option.
    ///
    /// - Returns: `nil` if each command is known, or no name is similar.
    static func suggestion(_ arguments: [String]) -> String? {
        var command: any ParsableCommand.Type = Newswire.self
        var path = [Newswire.configuration.commandName ?? ""]
        for word in arguments.dropFirst() {
            let known = command.configuration.subcommands
            if let next = known.first(where: { $0.configuration.commandName == word }) {
                command = next
                path.append(word)
                continue
            }
            guard !word.hasPrefix("-") else { return nil }
            let names = known.compactMap { $0.configuration.commandName }
            return NearestName.of(word, among: names).map { (path + [$0]).joined(separator: " ") }
        }
        return nil
    }
}
