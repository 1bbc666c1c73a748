package import Yams

/// Rules for reading YAML that people write.
package enum YAMLText {
    /// Returns the root of a text; `nil` for one that is empty or has only comments.
    ///
    /// All scalars are texts: telling numbers and dates apart costs milliseconds of regular expressions.
    package static func root(of text: String) throws(YAMLProblem) -> Node? {
        do {
            return try Yams.compose(yaml: text, .basic)
        } catch {
            throw YAMLProblem(error)
        }
    }
}

/// An error in a text that makes it no YAML.
package struct YAMLProblem: Error, Sendable {
    /// From 1, where known.
    package let line: Int?
    package let text: String

    /// Unknown errors are not quoted: they may contain a secret.
    init(_ error: any Error) {
        switch error as? YamlError {
        case .scanner(_, let reason, let mark, _), .parser(_, let reason, let mark, _),
            .composer(_, let reason, let mark, _):
            (line, text) = (mark.line, "is not YAML: \(reason)")
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map { "'\($0)'" }.joined(separator: ", ")
            (line, text) = (context.mark.line, "key \(names) appears twice")
        default:
            (line, text) = (nil, "is not YAML")
        }
    }
}
