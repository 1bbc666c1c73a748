/// Reads the scalars of one JSON string with its escapes resolved, and the place where each of them began.
package struct JSONStringScanner {
    private let bytes: [UInt8]
    /// True if control characters and unknown escapes are accepted.
    private let isLenient: Bool
    /// The position after the last byte read; after the closing quote once ``next()`` returned `nil`.
    package private(set) var position: Int

    /// `bytes` are valid UTF-8 unless `isLenient`, and `position` is after the opening quote.
    package init(bytes: [UInt8], position: Int, isLenient: Bool = false) {
        self.bytes = bytes
        self.position = position
        self.isLenient = isLenient
    }

    /// Returns the rest of the string, and consumes the closing quote.
    mutating func rest() throws(JSONSyntaxError) -> String {
        var text: [UInt8] = []
        while true {
            let start = position
            while position < bytes.count, Self.isPlain(bytes[position]) { position += 1 }
            text += bytes[start..<position]
            guard position < bytes.count else { throw unclosed }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                if let scalar = try escape() {
                    text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                }
            default:
                guard isLenient else { throw unescaped }
                text.append(bytes[position])
                position += 1
            }
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// The next scalar, or `nil` once the closing quote is consumed.
    package mutating func next() throws(JSONSyntaxError) -> Unicode.Scalar? {
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return nil
            case UInt8(ascii: "\\"):
                if let scalar = try escape() { return scalar }
            case 0..<0x20 where !isLenient:
                throw unescaped
            case 0..<0x80:
                position += 1
                return Unicode.Scalar(byte)
            default:
                return multibyte(first: byte)
            }
        }
        throw unclosed
    }

    private func failure(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(offset: position, reason: reason) }

    private var unclosed: JSONSyntaxError { JSONSyntaxError(offset: bytes.count, reason: "a string is not closed") }

    private var unescaped: JSONSyntaxError { failure("a string contains an unescaped control character") }

    private mutating func multibyte(first: UInt8) -> Unicode.Scalar {
        let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        let end = min(position + length, bytes.count)
        defer { position = end }
        return String(decoding: bytes[position..<end], as: UTF8.self).unicodeScalars.first ?? "\u{FFFD}"
    }

    /// Reads an escape; a lenient scanner returns `nil` for an unknown one, and reads what follows the backslash as text.
    private mutating func escape() throws(JSONSyntaxError) -> Unicode.Scalar? {
        guard position + 1 < bytes.count else { throw unclosed }
        let scalar: Unicode.Scalar
        switch bytes[position + 1] {
        case UInt8(ascii: "\""): scalar = "\""
        case UInt8(ascii: "\\"): scalar = "\\"
        case UInt8(ascii: "/"): scalar = "/"
        case UInt8(ascii: "b"): scalar = "\u{8}"
        case UInt8(ascii: "f"): scalar = "\u{C}"
        case UInt8(ascii: "n"): scalar = "\n"
        case UInt8(ascii: "r"): scalar = "\r"
        case UInt8(ascii: "t"): scalar = "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default:
            guard isLenient else { throw failure("'\\' does not begin a known escape") }
            position += 1
            return nil
        }
        position += 2
        return scalar
    }

    private mutating func unicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar? {
        guard let unit = codeUnit(at: position) else {
            guard isLenient else { throw failure("'\\u' is not followed by four digits") }
            position += 2
            return nil
        }
        position += 6
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(unit), let low = codeUnit(at: position), UTF16.isTrailSurrogate(low) else {
            return "\u{FFFD}"
        }
        position += 6
        let value = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00)
        return Unicode.Scalar(value) ?? "\u{FFFD}"
    }

    private func codeUnit(at start: Int) -> UInt16? {
        guard start + 6 <= bytes.count, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt16 = 0
        for byte in bytes[(start + 2)..<(start + 6)] {
            guard let digit = Hexadecimal.value(byte) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
