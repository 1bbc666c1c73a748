/// One thing wrong with the configuration; never holds a value that could be a secret.
package struct SettingsProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// A file's path, or a variable's name with `$` before it.
    package let place: String
    /// From 1, where known.
    package let line: Int?
    package let text: String

    package var description: String {
        if place.hasPrefix("$") { return "\(place): \(text)" }
        return line.map { "'\(place)' line \($0): \(text)" } ?? "'\(place)': \(text)"
    }
}

/// Everything that is wrong with the configuration; exit code 78.
package struct SettingsError: Error, Sendable, CustomStringConvertible {
    package let problems: [SettingsProblem]

    init(_ problems: [SettingsProblem]) { self.problems = problems }

    /// One line a problem.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
