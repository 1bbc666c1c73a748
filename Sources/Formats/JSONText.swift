/// A JSON value (RFC 8259) as text without white space.
///
/// It is well-formed, since nothing creates one from text that is JSON already. Members keep the caller's order. A
/// member whose value is `nil` is left out; ``null`` is a value.
package struct JSONText: Sendable, Hashable, CustomStringConvertible {
    package typealias Members = [(name: String, value: JSONText?)]

    package let text: String

    package static let null = JSONText(written: "null")

    private init(written text: String) {
        self.text = text
    }

    package init(_ text: String) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 2)
        Self.append(string: text, to: &bytes)
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    package init?(_ text: String?) {
        guard let text else { return nil }
        self.init(text)
    }

    package init(_ number: some BinaryInteger) { text = number.description }

    package init(_ isTrue: Bool) { text = isTrue ? "true" : "false" }

    /// A value that was read; numbers are as they were written.
    package init(_ node: JSONNode) {
        switch node.content {
        case .null: self = .null
        case .bool(let isTrue): self.init(isTrue)
        case .number(let text): self.init(written: text)
        case .string(let text): self.init(text)
        case .array(let nodes): self.init(array: nodes.map { JSONText($0) })
        case .object(let members): self.init(members: members.map { ($0.name, JSONText($0.value)) })
        }
    }

    /// - Parameters:
    ///   - array: The values.
    ///   - separator: A comma, and white space if people read the text.
    package init(array: [JSONText], separator: StaticString = ",") {
        text = "[\(array.map(\.text).joined(separator: "\(separator)"))]"
    }

    package init(strings: [String]) { self.init(array: strings.map { JSONText($0) }) }

    package init(members: Members) {
        var text = "{"
        for (name, value) in members {
            guard let value else { continue }
            if text.utf8.count > 1 { text += "," }
            text += JSONText(name).text
            text += ":"
            text += value.text
        }
        self.text = text + "}"
    }

    /// Members in the order of their names, so that equal dictionaries are equal bytes.
    package init(sorted members: [String: JSONText]) {
        self.init(members: members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    package init(sorted texts: [String: String]) { self.init(sorted: texts.mapValues { JSONText($0) }) }

    package var bytes: [UInt8] { Array(text.utf8) }

    /// `nil` for an array or an object with nothing in it.
    package var unlessEmpty: JSONText? { text == "[]" || text == "{}" ? nil : self }

    package var description: String { text }
}

// There is no interpolation: a number in a string literal would become a string.
extension JSONText: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral text: String) { self.init(text) }

    package init(integerLiteral number: Int) { self.init(number) }

    package init(booleanLiteral isTrue: Bool) { self.init(isTrue) }

    package init(arrayLiteral values: JSONText...) { self.init(array: values) }

    package init(dictionaryLiteral members: (String, JSONText?)...) {
        self.init(members: members.map { ($0, $1) })
    }
}

// Writes into a buffer, for texts that are made for each recipient.
extension JSONText {
    package static func append(string text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        append(escaped: text.utf8, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Escapes what RFC 8259 §7 requires, and nothing else.
    package static func append(escaped text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x0A: append("\\n", to: &bytes)
            case 0x0D: append("\\r", to: &bytes)
            case 0x09: append("\\t", to: &bytes)
            case 0..<0x20:
                append("\\u00", to: &bytes)
                bytes.append(Hexadecimal.digit(byte >> 4))
                bytes.append(Hexadecimal.digit(byte & 0xF))
            default: bytes.append(byte)
            }
        }
    }

    package static func append(_ text: StaticString, to bytes: inout [UInt8]) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }
}
