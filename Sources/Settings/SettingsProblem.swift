internal import HostSystem
internal import Yams

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

extension SettingsProblem {
    /// The problem of an unknown name, with the nearest known one.
    ///
    /// Whoever writes a secret is told by which key a file is named `instead`; the text is not shown then.
    static func unknown(_ node: Node, kind: String, known: [String], file: String, instead: String) -> SettingsProblem {
        let name = node.scalar?.string ?? ""
        let shown = TerminalText.safe(String(name.prefix(64)))
        let folded = name.lowercased()
        let secrets = ["password", "secret", "connection-string", "sharedaccesskey", "primary-key", "primarykey"]
        let text: String
        if secrets.contains(where: folded.contains) {
            text = "unknown \(kind) '\(shown)': no secret stands here; name a file that holds it: '\(instead)'"
        } else {
            let nearest = NearestName.of(name, among: known).map { "did you mean '\($0)'? " } ?? ""
            text = "unknown \(kind) '\(shown)': \(nearest)known are \(known.joined(separator: ", "))"
        }
        return SettingsProblem(place: file, line: node.mark?.line, text: text)
    }
}

/// Everything that is wrong with the configuration; exit code 78.
package struct SettingsError: Error, Sendable, CustomStringConvertible {
    package let problems: [SettingsProblem]

    package init(_ problems: [SettingsProblem]) { self.problems = problems }

    /// One line a problem.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
