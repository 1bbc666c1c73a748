import Formats

/// The content of a `template` message: texts by name; each template uses those that it names.
///
/// Source: protocol §5.1, §7.2.
package struct MessageProperties: Sendable, Equatable {
    /// Largest body, in bytes; the protocol's own limit for a request.
    package static let maximumBytes = 65_536
    /// Longest name, in characters (§7.2).
    package static let maximumNameLength = 120

    /// By name in lower case.
    private let values: [String: Property]

    private struct Property: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// Reads a JSON object of texts.
    ///
    /// Numbers are kept as written, booleans become `true` and `false`, null counts as absent.
    ///
    /// A name that no template can contain is ignored, and so is one that differs from an earlier one only in case: a
    /// back end's message may have more properties than templates use.
    ///
    /// - Throws: ``ProtocolError`` 413 for a body above the limit, 400 naming every member that is an object or an
    ///   array.
    package init(json: [UInt8]) throws(ProtocolError) {
        let members = try JSONDocument.object(json, maximumBytes: Self.maximumBytes, called: "the message")
        var values: [String: Property] = [:]
        var problems = ProblemList()
        for member in members {
            let value: String
            switch member.value.content {
            case .string(let text), .number(let text): value = text
            case .bool(let flag): value = flag ? "true" : "false"
            case .null: continue
            case .array, .object:
                problems.add(
                    "property '\(member.name.excerpt)' is \(member.value.kind); templates can only insert text"
                )
                continue
            }
            let key = member.name.lowercased()
            if Self.isName(member.name), values[key] == nil { values[key] = Property(name: member.name, value: value) }
        }
        try problems.throwIfAny()
        self.values = values
    }

    /// Keeps names as they are; of two that differ only in case, the one that sorts first.
    package init(_ properties: [MessageProperty: String]) {
        let sorted = properties.map { Property(name: $0.key.rawValue, value: $0.value) }.sorted { $0.name < $1.name }
        values = Dictionary(sorted.map { ($0.name.lowercased(), $0) }) { first, _ in first }
    }

    /// Looks a name up ignoring case.
    package subscript(name: MessageProperty) -> String? { values[name.rawValue.lowercased()]?.value }

    /// As spelled by the sender, sorted.
    package var names: [MessageProperty] { values.values.map(\.name).sorted().map(MessageProperty.init(rawValue:)) }

    /// The values by their names.
    package var all: [MessageProperty: String] {
        Dictionary(uniqueKeysWithValues: values.values.map { (MessageProperty(rawValue: $0.name), $0.value) })
    }

    /// The values by their names, as texts.
    package var texts: [String: String] {
        Dictionary(uniqueKeysWithValues: values.values.map { ($0.name, $0.value) })
    }

    /// A JSON object of strings, sorted by name: equal properties give equal bytes.
    package func encoded() -> [UInt8] {
        let members = values.values.sorted { $0.name < $1.name }
        return JSONText(members: members.map { ($0.name, JSONText($0.value)) }).bytes
    }

    /// `name` must be in lower case already.
    func value(lowercased name: String) -> String? { values[name]?.value }

    static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumNameLength && text.unicodeScalars.allSatisfy(\.isPropertyCharacter)
    }
}

extension Unicode.Scalar {
    /// `[A-Za-z0-9_]`, the alphabet of property names (protocol §7.2).
    var isPropertyCharacter: Bool {
        switch value {
        case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
        default: false
        }
    }
}
