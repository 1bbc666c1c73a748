internal import CYamlLimits
internal import Formats
package import Yams

/// Rules for reading YAML that people write.
package enum YAMLText {
    /// Maximum number of lists and mappings that contain each other; each is several levels of recursion in Yams.
    package static let maximumDepth = 64
    /// Maximum number of anchors: with aliases, each can add another ``maximumDepth`` levels, and Yams releases what it
    /// has read by recursion.
    package static let maximumAnchors = 32

    /// In block style, libyaml also counts the level outside of all lists and mappings.
    private static let limitDepth: Void = yaml_set_max_nest_level(Int32(maximumDepth + 1))

    /// Returns the root of a text; `nil` for one that is empty or has only comments.
    ///
    /// All scalars are texts: version numbers and dates apart costs milliseconds of regular expressions.
    package static func root(of text: String) throws(YAMLProblem) -> Node? {
        _ = limitDepth
        guard anchors(in: text) <= maximumAnchors else {
            throw YAMLProblem(text: "has more than \(maximumAnchors) anchors (&name)")
        }
        do {
            return try Yams.compose(yaml: text, .basic)
        } catch {
            throw YAMLProblem(error)
        }
    }

    /// Number of places where an anchor can be: `&name` at the beginning of a word, and not `&name;`.
    private static func anchors(in text: String) -> Int {
        let bytes = Array(text.utf8)
        var count = 0
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "&") {
            guard index == 0 || bytes[index - 1] <= 0x20 || "[{,:-?!".utf8.contains(bytes[index - 1]) else { continue }
            let rest = bytes[(index + 1)...]
            let end = rest.firstIndex { !isPartOfName($0) } ?? bytes.endIndex
            guard end > rest.startIndex else { continue }
            if end == bytes.endIndex || bytes[end] <= 0x20 || "?:,]}%@`".utf8.contains(bytes[end]) { count += 1 }
        }
        return count
    }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "_-".utf8.contains(byte)
    }
}

/// An error in a text that makes it no YAML.
package struct YAMLProblem: Error, Sendable {
    /// From 1, where known.
    package let line: Int?
    package let text: String

    fileprivate init(text: String) {
        line = nil
        self.text = text
    }

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
