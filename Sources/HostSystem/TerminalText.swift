/// Text from elsewhere, made fit for a terminal or a log line.
package enum TerminalText {
    /// Keeps what is visible and on one line: no escape sequences, no reordering of what stands beside it.
    ///
    /// Line breaks and tabs become spaces; control and bidirectional formatting characters vanish. Joiners stay:
    /// scripts and emoji need them.
    package static func safe(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x09...0x0D, 0x85, 0x2028, 0x2029: result.append(" ")
            case 0x00...0x1F, 0x7F...0x9F: continue
            case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x206F: continue
            case 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F: continue
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
