/// Text from other sources, made safe for a terminal or a log line.
package enum TerminalText {
    /// Keeps visible characters on one line: no escape sequences, no reordering of the text around it.
    ///
    /// Line breaks and tabs become spaces; control and bidirectional formatting characters are removed. Joiners stay,
    /// because scripts and emoji need them.
    package static func safe(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x09...0x0D, 0x85, 0x2028, 0x2029: result.append(" ")
            default: if !isHidden(scalar) { result.append(scalar) }
            }
        }
        return String(result)
    }

    /// Returns JSON text in which the characters that ``safe(_:)`` removes, and Unicode's line ends, are escapes.
    ///
    /// They can only be in strings there; RFC 8259 §7 allows the escapes, so that readers get the same strings.
    package static func escaped(json: String) -> String {
        let isPlain = json.unicodeScalars.allSatisfy { $0.value < 0x7F || !mustEscape($0) }
        guard !isPlain else { return json }
        var result = ""
        for scalar in json.unicodeScalars {
            guard mustEscape(scalar) else {
                result.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return result
    }

    private static func mustEscape(_ scalar: Unicode.Scalar) -> Bool {
        isHidden(scalar) || [0x85, 0x2028, 0x2029].contains(scalar.value)
    }

    /// True for control characters and bidirectional formatting; false for joiners.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F: true
        case 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F: true
        default: false
        }
    }
}
