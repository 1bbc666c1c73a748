internal import HostSystem
internal import Yams

/// One problem of the configuration; never contains a value that could be a secret.
package struct SettingsProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// A file's path, or a variable's name with `$` before it.
    package let place: String
    /// The line, from 1, if it is known.
    package let line: Int?
    package let text: String

    package var description: String {
        if place.hasPrefix("$") { return "\(place): \(text)" }
        return line.map { "'\(place)' line \($0): \(text)" } ?? "'\(place)': \(text)"
    }
}

extension SettingsProblem {
    /// Returns the problem of an unknown name, with the nearest known one.
    ///
    /// If the name suggests a secret, the problem names `instead`, a key whose value is a file.
    static func unknown(_ node: Node, kind: String, known: [String], file: String, instead: String) -> SettingsProblem {
        let name = node.scalar?.string ?? ""
        let shown = TerminalText.safe(String(name.prefix(64)))
        let folded = name.lowercased()
        let secrets = ["password", "secret", "connection-string", "sharedaccesskey", "primary-key", "primarykey"]
        let text: String
        if secrets.contains(where: folded.contains) {
            text = "unknown \(kind) '\(shown)': do not write a secret here; name a file that contains it: '\(instead)'"
        } else {
            let nearest = NearestName.of(name, among: known).map { "did you mean '\($0)'? " } ?? ""
            text = "unknown \(kind) '\(shown)': \(nearest)known are \(known.joined(separator: ", "))"
        }
        return SettingsProblem(place: file, line: node.mark?.line, text: text)
    }
}

/// All problems of the configuration; exit code 78.
package struct SettingsError: Error, Sendable, CustomStringConvertible {
    package let problems: [SettingsProblem]

    package init(_ problems: [SettingsProblem]) { self.problems = problems }

    /// One line per problem.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
