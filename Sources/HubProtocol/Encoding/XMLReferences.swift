import Formats

/// Resolves the references of XML character data: the five predefined entities and character references.
enum XMLReferences {
    /// - Returns: The text and, for each of its scalars, the index in `bytes` where it was written; `nil` if a
    ///   reference is cut, unknown, or names no character.
    static func resolve(_ bytes: ArraySlice<UInt8>, isAttribute: Bool) -> (string: String, offsets: [Int])? {
        var scalars = String.UnicodeScalarView()
        var offsets: [Int] = []
        var rest = bytes
        while let byte = rest.first {
            offsets.append(rest.startIndex)
            if byte == UInt8(ascii: "&") {
                guard let end = rest.firstIndex(of: UInt8(ascii: ";")),
                    let scalar = scalar(named: String(decoding: rest[rest.startIndex..<end].dropFirst(), as: UTF8.self))
                else { return nil }
                scalars.append(scalar)
                rest = rest[end...].dropFirst()
            } else {
                let length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
                let scalar = String(decoding: rest.prefix(length), as: UTF8.self).unicodeScalars.first ?? "\u{FFFD}"
                // A parser turns line ends and tabs in an attribute into spaces (XML 1.0 §3.3.3).
                scalars.append(isAttribute && byte < 0x20 ? " " : scalar)
                rest = rest.dropFirst(length)
            }
        }
        return (String(scalars), offsets)
    }

    private static func scalar(named name: String) -> Unicode.Scalar? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default: break
        }
        guard name.hasPrefix("#") else { return nil }
        let isHexadecimal = name.hasPrefix("#x")
        return UInt32(name.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10).flatMap(
            Unicode.Scalar.init
        )
    }
}

/// The XML declaration at the start of a template.
enum XMLDeclaration {
    /// Returns the text with the declared encoding blanked out: .NET declares `utf-16` in text that it sends as UTF-8,
    /// and the text here is no longer in any encoding.
    static func withoutEncoding(_ text: String) -> String {
        guard let start = text.utf8.firstIndex(of: UInt8(ascii: "<")), text[start...].utf8.starts(with: "<?xml".utf8),
            let end = text.range(ofASCII: "?>", from: start)?.lowerBound,
            let name = text[start..<end].range(ofASCII: "encoding")
        else { return text }
        let quote = text[name.upperBound..<end].firstIndex { $0 == "\"" || $0 == "'" }
        guard let quote, let close = text[quote..<end].dropFirst().firstIndex(of: text[quote]) else { return text }
        return text[..<quote] + "\"UTF-8\"" + text[text.index(after: close)...]
    }

    /// Returns the offset, in Unicode scalars, of the first character of a line counted from 1.
    static func offset(ofLine line: Int, in text: String) -> Int {
        var remaining = line - 1
        var offset = 0
        for scalar in text.unicodeScalars {
            if remaining <= 0 { return offset }
            if scalar == "\n" { remaining -= 1 }
            offset += 1
        }
        return remaining <= 0 ? offset : 0
    }
}
