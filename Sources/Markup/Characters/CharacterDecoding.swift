/// Converts a document's bytes to UTF-8; the bytes take precedence over declared encodings (RFC 7303 §3).
package enum CharacterDecoding {
    /// The number of bytes at the beginning of a document in which its XML declaration must end.
    private static let declarationBytes = 1_024

    /// Decodes a document; invalid bytes become U+FFFD, and NUL characters and the byte order mark are removed.
    ///
    /// - Parameters:
    ///   - bytes: The document, decompressed.
    ///   - charset: The encoding given by the transport, such as the `charset` of a Content-Type.
    /// - Returns: The text, and the reason why it could not be decoded cleanly.
    package static func utf8(_ bytes: [UInt8], charset: String?) -> (text: [UInt8], fault: String?) {
        let (text, fault) = decode(bytes, charset: charset)
        return (contains(text, 0) ? text.filter { $0 != 0 } : text, fault)
    }

    private static func contains(_ text: [UInt8], _ byte: UInt8) -> Bool {
        text.withUnsafeBufferPointer { $0.position(of: byte) != nil }
    }

    private static func decode(_ bytes: [UInt8], charset: String?) -> (text: [UInt8], fault: String?) {
        if let (name, skipped) = wideEncoding(of: bytes) {
            return Iconv.utf8(bytes[skipped...], from: name) ?? (repaired(bytes), "\(name) cannot be decoded")
        }
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        let isASCII = bytes.withUnsafeBufferPointer { $0.reduce(0) { $0 | $1 } } < 0x80
        // Valid multi-byte sequences do not occur by chance, whatever encoding is declared. Of the encodings that use
        // only ASCII bytes, only ISO 2022 uses them for other characters, after an escape character.
        if isASCII ? !contains(bytes, 0x1B) : (try? UTF8Span(validating: bytes.span)) != nil { return (bytes, nil) }
        let names = [charset, declaredEncoding(in: bytes)].compactMap { $0.flatMap(CharacterSetName.canonical) }
            .filter { !$0.hasPrefix("utf-16") && !$0.hasPrefix("utf-32") }
        if isASCII {
            return names.first { $0.hasPrefix("iso-2022") }.flatMap { Iconv.utf8(bytes[...], from: $0) } ?? (bytes, nil)
        }
        switch names.first ?? "utf-8" {
        // Many servers add `charset=utf-8` to every response, so the document's own declaration is more reliable.
        case "utf-8": return decodeBrokenUTF8(bytes, alternative: names.dropFirst().first)
        case let name: return decode(bytes, as: name)
        }
    }

    private static func decode(_ bytes: [UInt8], as name: String) -> (text: [UInt8], fault: String?) {
        if name == "windows-1252" { return (fromWindows1252(bytes), nil) }
        return Iconv.utf8(bytes[...], from: name) ?? (fromWindows1252(bytes), "the encoding \(name) is not known")
    }

    /// Decodes text that was declared as UTF-8 but is not valid UTF-8; `alternative` is the encoding that the document
    /// itself declares.
    private static func decodeBrokenUTF8(
        _ bytes: [UInt8],
        alternative: String?
    ) -> (text: [UInt8], fault: String?) {
        var parser = Unicode.UTF8.ForwardParser()
        var source = bytes.makeIterator()
        var valid = 0
        var invalid = 0
        loop: while true {
            switch parser.parseScalar(from: &source) {
            case .valid(let scalar): if scalar.count > 1 { valid += 1 }
            case .error: invalid += 1
            case .emptyInput: break loop
            }
        }
        if valid > invalid { return (repaired(bytes), "\(invalid) byte sequences are not UTF-8") }
        let name = alternative.flatMap { $0 == "utf-8" ? nil : $0 } ?? "windows-1252"
        let (text, fault) = decode(bytes, as: name)
        return (text, fault ?? "the text is not UTF-8; read as \(name)")
    }

    private static func repaired(_ bytes: [UInt8]) -> [UInt8] { Array(String(decoding: bytes, as: UTF8.self).utf8) }

    private static func fromWindows1252(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + bytes.count / 4)
        Windows1252.appendUTF8(bytes, to: &text)
        return text
    }

    /// The name of UTF-16 or UTF-32, which the first four bytes reveal with or without a byte order mark (XML 1.0
    /// appendix F).
    private static func wideEncoding(of bytes: [UInt8]) -> (name: String, skipped: Int)? {
        guard let start = bytes.first, start == 0 || start == 0x3C || start >= 0xFE else { return nil }
        switch Array(bytes.prefix(4)) {
        case [0xFF, 0xFE, 0, 0]: return ("utf-32le", 4)
        case [0, 0, 0xFE, 0xFF]: return ("utf-32be", 4)
        case [0x3C, 0, 0, 0]: return ("utf-32le", 0)
        case [0, 0, 0, 0x3C]: return ("utf-32be", 0)
        case let first where first.starts(with: [0xFF, 0xFE]): return ("utf-16le", 2)
        case let first where first.starts(with: [0xFE, 0xFF]): return ("utf-16be", 2)
        case let first where first.count == 4 && first[0] == 0x3C && first[1] == 0 && first[3] == 0:
            return ("utf-16le", 0)
        case let first where first.count == 4 && first[1] == 0x3C && first[0] == 0 && first[2] == 0:
            return ("utf-16be", 0)
        default: return nil
        }
    }

    private static func declaredEncoding(in bytes: [UInt8]) -> String? {
        let head = bytes.prefix(declarationBytes)
        guard let start = head.indices.first(where: { head[$0] == 0x3C && head[$0...].starts(with: "<?xml".utf8) }),
            let end = head[start...].firstIndex(of: 0x3E)
        else { return nil }
        var rest = head[start..<end]
        while let letter = rest.firstIndex(of: 0x65) {
            rest = rest[letter...]
            if rest.starts(with: "encoding".utf8) { break }
            rest = rest.dropFirst()
        }
        let value = rest.dropFirst(8).drop { $0 <= 0x20 || $0 == 0x3D }
        guard let quote = value.first, quote == 0x22 || quote == 0x27 else { return nil }
        return String(decoding: value.dropFirst().prefix { $0 != quote }, as: UTF8.self)
    }
}
