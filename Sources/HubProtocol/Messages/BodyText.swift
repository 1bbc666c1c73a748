import Markup

/// Decodes bodies of messages.
///
/// .NET encodes a body in any charset and sends the bare media type, and it writes `utf-16` into the XML declaration of
/// what it sends as UTF-8; so the bytes are believed first, then the header, then the declaration.
///
/// Source: protocol §5.1.
enum BodyText {
    /// Returns the body in UTF-8, without a byte order mark.
    ///
    /// - Throws: ``ProtocolError`` 400 for bytes that are not valid in the charset that they appear to have.
    static func utf8(_ bytes: [UInt8], charset: String?, called name: String) throws(ProtocolError) -> [UInt8] {
        let plain = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        let isUTF8 = !plain.contains(0) && String(validating: plain, as: UTF8.self) != nil
        // In ISO 2022 every byte is ASCII, but has another meaning after an escape.
        if isUTF8, !(plain.contains(0x1B) && charset?.lowercased().hasPrefix("iso-2022") == true) { return plain }
        let (text, fault) = CharacterDecoding.utf8(mark(of: bytes) + bytes, charset: charset)
        if let fault {
            throw .badRequest(
                "\(name) cannot be decoded: \(fault); send it in UTF-8, or name its charset in the Content-Type"
            )
        }
        return text
    }

    /// The byte order mark that UTF-16 lacks here: text of every format begins with a character of ASCII.
    private static func mark(of bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 2, bytes.count.isMultiple(of: 2), bytes[0] < 0x80, bytes[1] < 0x80 else { return [] }
        switch (bytes[0], bytes[1]) {
        case (1..., 0): return [0xFF, 0xFE]
        case (0, 1...): return [0xFE, 0xFF]
        default: return []
        }
    }
}
