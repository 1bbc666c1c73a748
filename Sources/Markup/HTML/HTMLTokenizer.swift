/// Splits HTML into texts and tags, as leniently as a browser does where the text depends on it.
package struct HTMLTokenizer {
    package enum Token {
        /// Text with undecoded references.
        case text(ArraySlice<UInt8>)
        case start(Tag)
        case end(name: String, source: ArraySlice<UInt8>)
    }

    package struct Tag {
        /// The name in lower case.
        package let name: String
        /// The tag as written, including angle brackets.
        let source: ArraySlice<UInt8>
        fileprivate let rest: ArraySlice<UInt8>

        /// The decoded value of the first attribute with this lower-case name; empty for an attribute without a value.
        package func attribute(_ wanted: String) -> String? {
            var input = XMLRepairInput(Array(rest))
            guard let tag = input.takeAttributes() else { return nil }
            for (name, value) in tag.attributes where String(decoding: name, as: UTF8.self).lowercased() == wanted {
                var decoded: [UInt8] = []
                HTMLEntities.appendDecoded(value == name ? [] : value, to: &decoded)
                return String(decoding: decoded, as: UTF8.self)
            }
            return nil
        }
    }

    private let bytes: ArraySlice<UInt8>
    private let end: Int
    private var position: Int
    /// The last `>`, searched for once: otherwise a text with many `<a` would take quadratic time.
    private let lastBracket: Int
    /// Elements without a later end tag; each is searched for once, since many `<script>` would otherwise take
    /// quadratic time.
    private var neverEnded: Set<String> = []
    /// The content of the element whose start tag was just returned, if it cannot contain tags.
    private var rawText: Range<Int>?

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
        end = bytes.endIndex
        lastBracket = bytes.lastIndex(of: 0x3E) ?? -1
    }

    package mutating func next() -> Token? {
        if let text = rawText {
            rawText = nil
            position = text.upperBound
            if !text.isEmpty { return .text(bytes[text]) }
        }
        while position < end {
            guard bytes[position] == 0x3C, position < lastBracket else { return takeText() }
            switch byte(1) {
            case 0x21: skipDeclaration()
            case 0x3F: position = behind(0x3E, from: position)
            case 0x2F where isLetter(byte(2)): return takeEndTag()
            case let next where isLetter(next): return takeStartTag()
            default: return takeText()
            }
        }
        return nil
    }

    /// Skips past the end tag of an element whose content is not needed; does not move when there is none.
    package mutating func skipContent(of name: String) {
        guard !neverEnded.contains(name) else { return }
        let start = position
        while let token = next() {
            if case .end(name, _) = token { return }
        }
        position = start
        neverEnded.insert(name)
    }

    private func byte(_ offset: Int) -> UInt8 {
        position + offset < end ? bytes[position + offset] : 0
    }

    private func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte | 0x20 }

    private mutating func takeText() -> Token {
        let start = position
        position += 1
        while position < end, bytes[position] != 0x3C { position += 1 }
        return .text(bytes[start..<position])
    }

    /// Skips comments, CDATA and document types.
    ///
    /// A comment ends at `-->`, all others end at `>`.
    private mutating func skipDeclaration() {
        guard byte(2) == 0x2D, byte(3) == 0x2D else {
            position = behind(0x3E, from: position)
            return
        }
        var index = position + 4
        while index < end {
            if bytes[index] == 0x3E, bytes[index - 1] == 0x2D, bytes[index - 2] == 0x2D { break }
            index += 1
        }
        position = min(end, index + 1)
    }

    private mutating func takeEndTag() -> Token {
        let start = position
        let name = takeName(at: start + 2)
        position = behind(0x3E, from: start)
        return .end(name: name, source: bytes[start..<position])
    }

    private mutating func takeStartTag() -> Token {
        let start = position
        let name = takeName(at: start + 1)
        let rest = start + 1 + name.utf8.count
        var index = rest
        var quote: UInt8?
        while index < end {
            let byte = bytes[index]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == 0x3E {
                break
            } else if byte == 0x22 || byte == 0x27,
                bytes[..<index].last(where: { !XMLRepairInput.isSpace($0) }) == 0x3D
            {
                quote = byte
            }
            index += 1
        }
        // An unclosed quotation mark: the tag ends at the first bracket.
        position = index < end ? index + 1 : behind(0x3E, from: start)
        if HTMLVocabulary.holdsRawText(name) { rawText = content(of: name) }
        return .start(Tag(name: name, source: bytes[start..<position], rest: bytes[min(rest, position)..<position]))
    }

    /// The content up to the end tag of `name`; `nil` when there is none, so that it is read as ordinary text.
    ///
    /// The double escapes of scripts (HTML §13.2.5.27) are not supported: they would hide text that follows a script
    /// that contains `<!--<script>`.
    private mutating func content(of name: String) -> Range<Int>? {
        guard !neverEnded.contains(name) else { return nil }
        let length = name.utf8.count
        var index = position
        while index <= lastBracket - length - 2, let bracket = bytes[index..<lastBracket].firstIndex(of: 0x3C) {
            index = bracket + 1
            guard index < lastBracket - length, bytes[index] == 0x2F else { continue }
            let found = bytes[index + 1..<index + 1 + length]
            guard XMLRepairInput.endsName(bytes[index + 1 + length]),
                zip(found, name.utf8).allSatisfy({ $0 | 0x20 == $1 })
            else { continue }
            return position..<bracket
        }
        neverEnded.insert(name)
        return nil
    }

    private func takeName(at start: Int) -> String {
        let name = bytes[start...].prefix { !XMLRepairInput.endsName($0) }.prefix(64)
        return String(decoding: name, as: UTF8.self).lowercased()
    }

    private func behind(_ byte: UInt8, from start: Int) -> Int {
        (bytes[start...].firstIndex(of: byte) ?? end - 1) + 1
    }
}
