/// Character data of XML 1.0.
package enum XMLText {
    package static func escaped(_ text: String) -> String { escaped(text, quote: nil) }

    /// Escapes the value of an attribute in double quotes.
    static func escapedAttribute(_ text: String) -> String { escaped(text, quote: UInt8(ascii: "\"")) }

    private static func escaped(_ text: String, quote: UInt8?) -> String {
        var bytes: [UInt8] = []
        append(escaped: text, quote: quote, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Escapes text, or an attribute's value if `quote` encloses it.
    ///
    /// White space that a parser would change becomes a reference; characters that XML 1.0 cannot contain (§2.2) become
    /// U+FFFD.
    static func append(escaped text: String, quote: UInt8?, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { append(escaped: $0, quote: quote, to: &bytes) }
    }

    /// Most text has nothing to escape, and is copied in one piece.
    private static func append(
        escaped text: UnsafeBufferPointer<UInt8>,
        quote: UInt8?,
        to bytes: inout [UInt8]
    ) {
        var copied = 0
        for (index, byte) in text.enumerated() where !isPlain(byte) {
            guard let (written, length) = replacement(for: text[index...], quote: quote) else { continue }
            bytes.append(contentsOf: text[copied..<index])
            written.withUTF8Buffer { bytes.append(contentsOf: $0) }
            copied = index + length
        }
        bytes.append(contentsOf: text[copied...])
    }

    /// Returns the text with the characters that XML cannot contain replaced by U+FFFD, and nothing escaped.
    static func permitted(_ text: String) -> String {
        // UTF-8 of U+FFFE and U+FFFF begins with EF, which hardly any text has.
        guard text.utf8.contains(where: { $0 == 0xEF || $0 < 0x20 && !isSpace($0) }) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isPermitted($0) ? $0 : "\u{FFFD}" }))
    }

    private static func isPermitted(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 ? scalar.value & 0x1F_FFFE != 0xFFFE : isSpace(UInt8(scalar.value))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x09 || byte == 0x0A || byte == 0x0D || byte == 0x20 }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x20, 0x22, 0x26, 0x27, 0x3C, 0x3E, 0xEF: false
        default: true
        }
    }

    /// Returns the replacement for the first character of `rest`, and the number of its bytes; `nil` if it needs none.
    private static func replacement(
        for rest: Slice<UnsafeBufferPointer<UInt8>>,
        quote: UInt8?
    ) -> (StaticString, Int)? {
        let isAttribute = quote != nil
        switch rest[rest.startIndex] {
        case UInt8(ascii: "&"): return ("&amp;", 1)
        case UInt8(ascii: "<"): return ("&lt;", 1)
        case UInt8(ascii: ">"): return ("&gt;", 1)
        case UInt8(ascii: "\""): return isAttribute ? ("&quot;", 1) : nil
        case UInt8(ascii: "'"): return quote == UInt8(ascii: "'") ? ("&apos;", 1) : nil
        case 0x0D: return ("&#13;", 1)
        case 0x0A: return isAttribute ? ("&#10;", 1) : nil
        case 0x09: return isAttribute ? ("&#9;", 1) : nil
        case 0xEF:
            guard rest.count >= 3, rest[rest.startIndex + 1] == 0xBF, rest[rest.startIndex + 2] >= 0xBE else {
                return nil
            }
            return ("\u{FFFD}", 3)
        default: return ("\u{FFFD}", 1)
        }
    }
}
