/// A document without its long texts, which libxml2 reads slowly.
///
/// libxml2 reads CDATA, references and non-ASCII text character by character. This takes half of its time, and most of
/// it for podcasts that escape whole pages. Therefore each long text is replaced by a processing instruction; when the
/// builder reads an instruction, it inserts the next text. The result is correct for well-formed documents only. The
/// strict parse detects others, which are then read again in their original form.
struct XMLLongTexts {
    struct Text {
        /// The range in the original document, without the delimiters of a CDATA section.
        let range: Range<Int>
        /// True if references in it must be resolved.
        let isEscaped: Bool
    }

    /// The target of the processing instructions.
    static let target = "newswire-text"
    private static let instruction = Array("<?\(target)?>".utf8)
    /// The total length of texts, in bytes, below which the replacement gains nothing.
    private static let worthwhile = 512
    /// The lengths from which libxml2 needs more time for a text than for an instruction: for text that it reads
    /// slowly, and for ASCII.
    private static let slowText = 64
    private static let plainText = 512

    private(set) var document: [UInt8] = []
    /// The texts in document order.
    private(set) var texts: [Text] = []

    /// Takes texts out; `nil` when there are too few, or when they could not be put back unchanged.
    init?(_ utf8: [UInt8]) {
        guard let found = utf8.withUnsafeBufferPointer({ Self.find(in: $0) }),
            found.reduce(0, { $0 + $1.range.count }) >= Self.worthwhile
        else { return nil }
        texts = found
        document.reserveCapacity(utf8.count)
        var kept = 0
        for text in texts {
            let marks = text.isEscaped ? (before: 0, after: 0) : (before: 9, after: 3)
            document += utf8[kept..<text.range.lowerBound - marks.before]
            document += Self.instruction
            kept = text.range.upperBound + marks.after
        }
        document += utf8[kept...]
    }

    /// Moves from one `<` to the next; attributes of a well-formed document contain none.
    private static func find(in bytes: UnsafeBufferPointer<UInt8>) -> [Text]? {
        var found: [Text] = []
        var position = 0
        /// The tag before the next text; `nil` if that text begins at `position`.
        var tag: Int?
        while let bracket = bytes.position(of: 0x3C, from: position) {
            if bracket - (tag ?? position) > slowText, let text = text(in: bytes, behind: tag, position, to: bracket) {
                found.append(text)
            }
            tag = nil
            position = bracket + 1
            if bytes.has("![CDATA[", at: position) {
                guard let end = bytes.position(of: "]]>", from: position + 8) else { return nil }
                let range = position + 8..<end
                if isFaithful(bytes[range]) != nil { found.append(Text(range: range, isEscaped: false)) }
                position = end + 3
            } else if bytes.has("!--", at: position) {
                guard let end = bytes.position(of: "-->", from: position + 3) else { return nil }
                position = end + 3
            } else if bytes.has("?", at: position) {
                guard !bytes.has("?newswire", at: position),
                    let end = bytes.position(of: "?>", from: position + 1)
                else { return nil }
                position = end + 2
            } else if bytes.has("!", at: position) {
                // A document type may contain anything.
                return nil
            } else {
                tag = bracket
            }
        }
        return found
    }

    // MARK: Texts with references

    /// The text that ends at `end`, if it is long enough to take out.
    private static func text(
        in bytes: UnsafeBufferPointer<UInt8>,
        behind tag: Int?,
        _ position: Int,
        to end: Int
    ) -> Text? {
        guard let start = tag.map({ endOfTag(in: bytes, from: $0, to: end) }) ?? position, end - start >= slowText,
            let isASCII = isFaithful(bytes[start..<end]), bytes[start..<end].contains(where: { $0 > 0x20 })
        else { return nil }
        var next = bytes.position(of: 0x26, from: start, to: end)
        guard next != nil || !isASCII || end - start >= plainText else { return nil }
        while let ampersand = next {
            guard let reference = reference(in: bytes, at: ampersand, to: end) else { return nil }
            next = bytes.position(of: 0x26, from: ampersand + reference.length, to: end)
        }
        // `]]>` is not allowed in text.
        if let brackets = bytes.position(of: "]]>", from: start, to: end), brackets < end { return nil }
        return Text(range: start..<end, isEscaped: true)
    }

    /// The position after the tag's `>`; `nil` when there is none before `end`.
    private static func endOfTag(in bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int) -> Int? {
        var quote: UInt8?
        for index in start..<end {
            let byte = bytes[index]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == 0x3E {
                return index + 1
            } else if byte == 0x22 || byte == 0x27 {
                quote = byte
            }
        }
        return nil
    }

    /// The reference at an ampersand, if XML itself defines it (XML 1.0 §4.1, §4.6).
    static func reference(
        in bytes: UnsafeBufferPointer<UInt8>,
        at start: Int,
        to end: Int
    ) -> (scalar: Unicode.Scalar, length: Int)? {
        guard start + 3 < end else { return nil }
        switch bytes[start + 1] {
        case 0x6C where bytes.has("lt;", at: start + 1): return ("<", 4)
        case 0x67 where bytes.has("gt;", at: start + 1): return (">", 4)
        case 0x61 where bytes.has("amp;", at: start + 1): return ("&", 5)
        case 0x71 where bytes.has("quot;", at: start + 1): return ("\"", 6)
        case 0x61 where bytes.has("apos;", at: start + 1): return ("'", 6)
        case 0x23: return number(in: bytes, at: start, to: end)
        default: return nil
        }
    }

    private static func number(
        in bytes: UnsafeBufferPointer<UInt8>,
        at start: Int,
        to end: Int
    ) -> (scalar: Unicode.Scalar, length: Int)? {
        let isHexadecimal = bytes[start + 2] == 0x78
        var index = start + (isHexadecimal ? 3 : 2)
        let last = min(end, index + 8)
        var value: UInt32 = 0
        let first = index
        while index < last, bytes[index] != 0x3B {
            let byte = bytes[index]
            if 0x30...0x39 ~= byte {
                value = value * (isHexadecimal ? 16 : 10) + UInt32(byte - 0x30)
            } else if isHexadecimal, 0x61...0x66 ~= byte | 0x20 {
                value = value * 16 + UInt32((byte | 0x20) - 0x57)
            } else {
                return nil
            }
            index += 1
        }
        guard index < last, index > first, let scalar = Unicode.Scalar(value), isAllowed(value) else { return nil }
        return (scalar, index + 1 - start)
    }

    /// True for a character that XML allows (XML 1.0 §2.2, `Char`).
    private static func isAllowed(_ value: UInt32) -> Bool {
        value >= 0x20 ? value != 0xFFFE && value != 0xFFFF : value == 0x09 || value == 0x0A || value == 0x0D
    }

    // MARK: Bytes

    /// Checks for line ends that libxml2 has to normalize, and for control characters, which are a fault.
    ///
    /// - Returns: True for text of ASCII alone; `nil` for text that must stay in the document.
    private static func isFaithful(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Bool? {
        var controls = UInt8(0)
        var all = UInt8(0)
        // Without an early exit, so that the loop can be vectorized.
        for byte in UnsafeBufferPointer(rebasing: text) {
            controls |= byte < 0x20 && byte != 0x0A && byte != 0x09 ? 1 : 0
            all |= byte
        }
        return controls == 0 ? all < 0x80 : nil
    }
}
