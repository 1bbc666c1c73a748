import Formats

/// The members of one JSON object by name, with the readers that installations need; a null member counts as absent.
struct JSONMembers {
    private let values: [String: JSONNode]

    init(_ members: [JSONMember]) {
        var values: [String: JSONNode] = [:]
        for member in members where member.value.content != .null { values[member.name] = member.value }
        self.values = values
    }

    subscript(name: String) -> JSONNode? { values[name] }

    func text(_ name: String, at label: String? = nil, _ problems: inout ProblemList) -> String? {
        guard let node = values[name] else { return nil }
        guard let text = node.string else {
            problems.add("\(label ?? name) is \(node.kind), not a string")
            return nil
        }
        return text
    }

    /// Reads an object of strings.
    func texts(_ name: String, at label: String, _ problems: inout ProblemList) -> [String: String] {
        values[name].map { Self.texts($0, at: label, &problems) } ?? [:]
    }

    static func texts(_ node: JSONNode, at label: String, _ problems: inout ProblemList) -> [String: String] {
        guard case .object(let members) = node.content else {
            problems.add("\(label) is \(node.kind), not an object of strings")
            return [:]
        }
        var texts: [String: String] = [:]
        for member in members where member.value.content != .null {
            if let text = member.value.string {
                texts[member.name] = text
            } else {
                problems.add("\(label)/\(member.name.excerpt) is \(member.value.kind), not a string")
            }
        }
        return texts
    }

    /// Reads an object of objects; `read` notes its own problems when it returns `nil`.
    func objects<Value>(
        _ name: String,
        at label: String,
        _ problems: inout ProblemList,
        _ read: (String, JSONMembers, inout ProblemList) -> Value?
    ) -> [String: Value] {
        guard let node = values[name] else { return [:] }
        guard case .object(let members) = node.content else {
            problems.add("\(label) is \(node.kind), not an object")
            return [:]
        }
        var values: [String: Value] = [:]
        for member in members where member.value.content != .null {
            guard case .object(let inner) = member.value.content else {
                problems.add("\(label)/\(member.name.excerpt) is \(member.value.kind), not an object")
                continue
            }
            values[member.name] = read(member.name, JSONMembers(inner), &problems)
        }
        return values
    }
}

extension ProblemList {
    /// Returns the result of `body`, or `nil` with its refusal noted.
    mutating func catching<Value>(
        at label: String? = nil,
        _ body: () throws(ProtocolError) -> Value
    ) -> Value? {
        do {
            return try body()
        } catch {
            add(label.map { "\($0): \(error.detail)" } ?? error.detail)
            return nil
        }
    }
}
