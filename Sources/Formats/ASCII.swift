extension UInt8 {
    package var isASCIIDigit: Bool { 0x30...0x39 ~= self }
    package var isASCIILetter: Bool { 0x61...0x7A ~= self | 0x20 }
}

extension StringProtocol {
    /// The range of an ASCII text, compared by bytes: a combining mark after the text does not hide it.
    ///
    /// - Returns: `nil` if the text does not occur.
    package func range(ofASCII needle: String, from start: Index? = nil) -> Range<Index>? {
        let bytes = Array(needle.utf8)
        var position = start ?? startIndex
        while position < endIndex {
            if utf8[position] == bytes.first, utf8[position...].starts(with: bytes) {
                return position..<utf8.index(position, offsetBy: bytes.count)
            }
            position = utf8.index(after: position)
        }
        return nil
    }

    /// True for one or more ASCII digits and nothing else.
    package var isDigits: Bool { !isEmpty && utf8.allSatisfy(\.isASCIIDigit) }

    /// True if all bytes are ASCII letters, ASCII digits or bytes of `others`; also for an empty text.
    package func hasOnlyLettersAndDigits(or others: String = "") -> Bool {
        utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || others.utf8.contains($0) }
    }

    /// The text without blanks and tabs at both ends.
    package func trimmingBlanks() -> SubSequence { trimming { $0 == " " || $0 == "\t" } }

    /// The text without certain characters at both ends.
    package func trimming(_ isDropped: (Character) -> Bool) -> SubSequence {
        var text = drop(while: isDropped)
        while let last = text.last, isDropped(last) { text.removeLast() }
        return text
    }
}
