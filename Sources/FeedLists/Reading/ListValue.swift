internal import Feeds
internal import Formats
internal import FoundationEssentials
internal import YAMLFiles
internal import Yams

/// The value of any key of a feed list, so that lists can be exported completely.
enum ListValue: Sendable, Equatable {
    /// A text; all scalars of a list are texts.
    case text(String)
    case list([ListValue])
    case mapping([ListMember])

    /// The largest nesting depth of lists and mappings.
    static let maximumDepth = 8
    /// The largest number of values, which YAML aliases can multiply.
    private static let maximumValues = 200_000

    /// Creates a value; `nil` for keys that are not texts, and for values that are too deep or too many.
    init?(_ node: Node) {
        var left = Self.maximumValues
        self.init(node, depth: 0, left: &left)
    }

    private init?(_ node: Node, depth: Int, left: inout Int) {
        left -= 1
        guard depth < Self.maximumDepth, left > 0 else { return nil }
        if let scalar = node.scalar {
            self = .text(scalar.string)
        } else if let sequence = node.sequence {
            var values: [ListValue] = []
            for child in sequence {
                guard let value = ListValue(child, depth: depth + 1, left: &left) else { return nil }
                values.append(value)
            }
            self = .list(values)
        } else {
            var members: [ListMember] = []
            for (key, child) in node.mapping ?? [:] {
                guard let name = key.scalar?.string, let value = ListValue(child, depth: depth + 1, left: &left) else {
                    return nil
                }
                members.append(ListMember(name, value))
            }
            self = .mapping(members)
        }
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }

    // MARK: As YAML

    /// The value on one line, which can follow a key or be part of a flow collection.
    var yaml: String {
        if case .text(let text) = self { YAMLText.scalar(text) } else { json(name: Self.yamlName) }
    }

    /// The value as JSON, which is also YAML.
    private func json(name: (String) -> String = YAMLText.quoted) -> String {
        switch self {
        case .text(let text): YAMLText.quoted(text)
        case .list(let values): "[\(values.map { $0.json(name: name) }.joined(separator: ", "))]"
        case .mapping(let members):
            "{\(members.map { "\(name($0.name)): \($0.value.json(name: name))" }.joined(separator: ", "))}"
        }
    }

    private static func yamlName(_ name: String) -> String {
        name.isEmpty || !name.utf8.allSatisfy { 0x61...0x7A ~= $0 | 0x20 } ? YAMLText.quoted(name) : name
    }

    // MARK: As an attribute

    /// The value as an attribute: text unchanged; JSON for lists, mappings, and text that looks like JSON or is invalid
    /// XML.
    var attribute: String {
        guard case .text(let text) = self, text.first.map({ !Self.jsonBeginnings.contains($0) }) ?? true,
            text.unicodeScalars.allSatisfy(OPMLWriter.isAllowed)
        else { return json() }
        return text
    }

    init(attribute: String) {
        let isJSON = attribute.first.map { Self.jsonBeginnings.contains($0) } ?? false
        let value = isJSON ? try? JSONReader.decode(ListValue.self, from: attribute) : nil
        self = value ?? .text(attribute)
    }

    private static let jsonBeginnings: [Character] = ["[", "{", "\""]
}

/// A key of a list or feed with its value.
struct ListMember: Sendable, Equatable {
    let name: String
    let value: ListValue

    init(_ name: String, _ value: ListValue) {
        self.name = name
        self.value = value
    }
}

extension ListValue: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
            return
        }
        guard decoder.codingPath.count < Self.maximumDepth - 1 else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "nested too deeply")
        }
        if let values = try? container.decode([ListValue].self) {
            self = .list(values)
        } else {
            let members = try container.decode([String: ListValue].self)
            self = .mapping(members.sorted { $0.key < $1.key }.map { ListMember($0.key, $0.value) })
        }
    }
}
