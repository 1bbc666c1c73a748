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
        let words = arguments.dropFirst()
        let isHelp = words.first == "help"
        guard let unknown = unknown(isHelp ? words.dropFirst() : words) else { return nil }
        let path = [Newswire.configuration.commandName ?? ""] + (isHelp ? ["help"] : []) + unknown.path
        return NearestName.of(unknown.word, among: unknown.names).map { (path + [$0]).joined(separator: " ") }
    }

    /// Returns the word behind `newswire help` that is not a command.
    static func unknownTopic(_ arguments: [String]) -> String? {
        let words = arguments.dropFirst()
        return words.first == "help" ? unknown(words.dropFirst())?.word : nil
    }

    /// Returns the first word that is not a command, with the commands before it and the names that are known there.
    private static func unknown(
        _ words: ArraySlice<String>
    ) -> (path: [String], word: String, names: [String])? {
        var command: any ParsableCommand.Type = Newswire.self
        var path: [String] = []
        for word in words {
            let known = command.configuration.subcommands
            if let next = known.first(where: { $0.configuration.commandName == word }) {
                command = next
                path.append(word)
                continue
            }
            guard !word.hasPrefix("-"), !known.isEmpty else { return nil }
            return (path, word, known.compactMap { $0.configuration.commandName })
        }
        return nil
    }
}
