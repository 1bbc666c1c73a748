/// Writes JSON without white space; the members' order is the caller's.
package enum JSONText {
    package static func string(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 2)
        append(string: text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

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

    /// Returns `[…]` of values that are JSON already.
    package static func array(_ values: some Sequence<String>) -> String { "[\(values.joined(separator: ","))]" }

    /// Returns `{…}` of values that are JSON already.
    package static func object(_ members: [(name: String, value: String)]) -> String {
        "{\(members.map { "\(string($0.name)):\($0.value)" }.joined(separator: ","))}"
    }

    /// Returns an object of strings, sorted by name so that equal dictionaries are equal bytes.
    package static func object(_ members: [String: String]) -> String {
        object(members.sorted { $0.key < $1.key }.map { ($0.key, string($0.value)) })
    }
}
