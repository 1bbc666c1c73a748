/// Character references of HTML, which feeds also use in XML.
enum HTMLEntities {
    /// The longest name in the table, in bytes.
    private static let nameBytes = 31
    /// The largest number of digits of a numeric reference; longer numbers are not characters.
    private static let digits = 10

    private static let named: [String: (text: String, needsSemicolon: Bool)] = {
        var table: [String: (text: String, needsSemicolon: Bool)] = [:]
        for word in HTMLEntityTable.text.split(whereSeparator: \.isWhitespace) {
            guard let equals = word.firstIndex(of: "=") else { continue }
            let isLegacy = word[..<equals].hasSuffix("*")
            let points = word[word.index(after: equals)...].split(separator: "+").compactMap { UInt32($0, radix: 16) }
            var text = ""
            text.unicodeScalars.append(contentsOf: points.compactMap(Unicode.Scalar.init))
            table[String(isLegacy ? word[..<equals].dropLast() : word[..<equals])] = (text, !isLegacy)
        }
        return table
    }()

    /// Reads the character reference at the start of the bytes, which begin with `&`.
    ///
    /// - Returns: The referenced text, empty for a character that is not allowed, and the length of the reference in
    ///   bytes; `nil` if the bytes do not begin with a reference.
    static func reference(at bytes: ArraySlice<UInt8>) -> (text: String, length: Int)? {
        let body = bytes.dropFirst()
        guard body.first != 0x23 else { return numeric(body.dropFirst()) }
        let name = body.prefix(nameBytes).prefix(while: isAlphanumeric)
        guard !name.isEmpty, let entity = named[String(decoding: name, as: UTF8.self)] else { return nil }
        let next = body.dropFirst(name.count).first
        if next == 0x3B { return (entity.text, name.count + 2) }
        // `&copy=` is part of a URL, `&copyright` part of a word (HTML §13.2.5.73).
        guard !entity.needsSemicolon, next != 0x3D, !(next.map(isAlphanumeric) ?? false) else { return nil }
        return (entity.text, name.count + 1)
    }

    /// Appends HTML text with its references decoded once: all references if `named` is true, otherwise numeric ones
    /// only.
    static func appendDecoded(_ bytes: ArraySlice<UInt8>, to output: inout [UInt8], named: Bool = true) {
        var rest = bytes
        while let ampersand = rest.firstIndex(of: 0x26) {
            output += rest[..<ampersand]
            rest = rest[ampersand...]
            if named || rest.dropFirst().first == 0x23, let (text, length) = reference(at: rest) {
                output += text.utf8
                rest = rest.dropFirst(length)
            } else {
                output.append(0x26)
                rest = rest.dropFirst()
            }
        }
        output += rest
    }

    /// Reads a numeric reference.
    ///
    /// - Parameter bytes: The bytes after `&#`.
    /// - Returns: As ``reference(at:)``.
    private static func numeric(_ bytes: ArraySlice<UInt8>) -> (text: String, length: Int)? {
        let isHexadecimal = bytes.first.map { $0 | 0x20 == 0x78 } ?? false
        let body = isHexadecimal ? bytes.dropFirst() : bytes
        let digits = body.prefix { isAlphanumeric($0) && (isHexadecimal ? isHexDigit($0) : $0 <= 0x39) }
        guard !digits.isEmpty else { return nil }
        let ending = body.dropFirst(digits.count).first == 0x3B ? 1 : 0
        let length = 2 + (isHexadecimal ? 1 : 0) + digits.count + ending
        guard digits.count <= Self.digits,
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10)
        else { return ("\u{FFFD}", length) }
        if value < 0x20, value != 0x09, value != 0x0A, value != 0x0D { return ("", length) }
        guard let scalar = Unicode.Scalar(Windows1252.remapped(value)) else { return ("\u{FFFD}", length) }
        return (String(Character(scalar)), length)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool { byte <= 0x39 || 0x61...0x66 ~= byte | 0x20 }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte || 0x61...0x7A ~= byte | 0x20 }
}
