internal import Formats

/// Scalars as they are written into files that people edit.
extension YAMLText {
    /// Returns a text that needs no quotation marks as it is, and another one quoted; for the value of a key in block style.
    package static func scalar(_ text: String) -> String { isPlain(text) ? text : quoted(text) }

    /// True for text that needs no quotation marks, and that no YAML reader takes for another type.
    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last, first.isASCIILetter || first.isASCIIDigit else {
            return false
        }
        let isSafe = text.hasOnlyLettersAndDigits(or: " $()+,-./:;=?@_~!&%*")
        return isSafe && last != 0x20 && last != 0x3A && !text.contains(": ")
    }

    /// Returns a text in quotation marks, which is also JSON; characters that YAML readers treat as line breaks or refuse
    /// are escaped.
    package static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22: result += "\\\""
            case 0x5C: result += "\\\\"
            case 0x0A: result += "\\n"
            case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
