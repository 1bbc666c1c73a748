/// Reads the scalars of one JSON string with its escapes resolved, and the place where each of them began.
struct JSONStringScanner {
    private let bytes: [UInt8]
    /// The position after the last byte read; after the closing quote once ``next()`` returned `nil`.
    private(set) var position: Int

    /// `bytes` are valid UTF-8, and `position` is after the opening quote.
    init(bytes: [UInt8], position: Int) {
        self.bytes = bytes
        self.position = position
    }

    /// The next scalar, or `nil` once the closing quote is consumed.
    mutating func next() throws(JSONSyntaxError) -> Unicode.Scalar? {
        guard position < bytes.count else { throw failure("a string is not closed") }
        let byte = bytes[position]
        switch byte {
        case UInt8(ascii: "\""):
            position += 1
            return nil
        case UInt8(ascii: "\\"):
            return try escape()
        case 0..<0x20:
            throw failure("a string contains an unescaped control character")
        case 0..<0x80:
            position += 1
            return Unicode.Scalar(byte)
        default:
            return multibyte(first: byte)
        }
    }

    private func failure(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(offset: position, reason: reason) }

    private mutating func multibyte(first: UInt8) -> Unicode.Scalar {
        let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        let end = min(position + length, bytes.count)
        defer { position = end }
        return String(decoding: bytes[position..<end], as: UTF8.self).unicodeScalars.first ?? "\u{FFFD}"
    }

    private mutating func escape() throws(JSONSyntaxError) -> Unicode.Scalar {
        guard position + 1 < bytes.count else { throw failure("a string is not closed") }
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
        default: throw failure("'\\' does not begin a known escape")
        }
        position += 2
        return scalar
    }

    private mutating func unicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        guard let unit = codeUnit(at: position) else { throw failure("'\\u' is not followed by four digits") }
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
