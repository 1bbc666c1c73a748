/// Writes text as portable XML: references are resolved, and special characters are written as numbers.
///
/// Entities that the document declares are replaced once, up to a total size. Replacements are not searched for further
/// references, so expansion cannot grow.
struct XMLTextNormalizer {
    private static let declarations = 256
    private static let declaredBytes = 1_024
    /// The largest total size of the declared entities' replacements in one document, in bytes.
    private static let totalBytes = 1_048_576
    /// The longest known entity name, with some margin.
    private static let nameBytes = 40

    private var declared: [ArraySlice<UInt8>: [UInt8]] = [:]
    private var spent = 0

    /// Reads a document type declaration after its keyword; false when the input ends in it.
    mutating func takeDoctype(_ input: inout XMLRepairInput) -> Bool {
        while let byte = input.current {
            input.advance(1)
            switch byte {
            case 0x3E: return true
            case 0x22, 0x27:
                _ = input.take { $0 != byte && $0 != 0x3E }
                if input.current == byte { input.advance(1) }
            case 0x5B: takeSubset(&input)
            default: continue
            }
        }
        return false
    }

    private mutating func takeSubset(_ input: inout XMLRepairInput) {
        while let byte = input.current {
            if byte == 0x5D { return input.advance(1) }
            if input.skip("<!--") {
                _ = input.skip(past: "-->")
            } else if input.skip("<!ENTITY") {
                takeEntity(&input)
            } else {
                input.advance(1)
            }
        }
    }

    private mutating func takeEntity(_ input: inout XMLRepairInput) {
        _ = input.take(while: XMLRepairInput.isSpace)
        let name = input.takeName()
        _ = input.take(while: XMLRepairInput.isSpace)
        guard !name.isEmpty, declared.count < Self.declarations, declared[name] == nil else { return }
        guard let quote = input.current, quote == 0x22 || quote == 0x27 else {
            // The entity is outside the document, and is not loaded.
            declared[name] = []
            return
        }
        input.advance(1)
        let value = input.take { $0 != quote }
        input.advance(1)
        guard value.count <= Self.declaredBytes else { return }
        var text: [UInt8] = []
        HTMLEntities.appendDecoded(value, to: &text, named: false)
        declared[name] = text
    }

    /// Appends text with references resolved by XML, HTML or the document's declarations; any other `&` is kept
    /// literally.
    mutating func appendText(_ text: ArraySlice<UInt8>, to output: inout [UInt8]) {
        var rest = text
        while let ampersand = rest.firstIndex(of: 0x26) {
            Self.appendLiteral(rest[..<ampersand], to: &output)
            rest = rest[ampersand...]
            let name = rest.dropFirst().prefix(Self.nameBytes).prefix { $0 != 0x3B && XMLRepairInput.isNameByte($0) }
            if rest.dropFirst(1 + name.count).first == 0x3B, let value = declared[name],
                spent + value.count <= Self.totalBytes
            {
                spent += value.count
                Self.appendLiteral(value[...], to: &output)
                rest = rest.dropFirst(name.count + 2)
            } else if let (value, length) = HTMLEntities.reference(at: rest) {
                Self.appendLiteral(Array(value.utf8)[...], to: &output)
                rest = rest.dropFirst(length)
            } else {
                output += "&#38;".utf8
                rest = rest.dropFirst()
            }
        }
        Self.appendLiteral(rest, to: &output)
    }

    /// Appends literal characters; those that XML forbids are dropped.
    static func appendLiteral(_ text: ArraySlice<UInt8>, to output: inout [UInt8]) {
        for (offset, byte) in zip(text.indices, text) {
            switch byte {
            case 0x22: output += "&#34;".utf8
            case 0x26: output += "&#38;".utf8
            case 0x3C: output += "&#60;".utf8
            case 0x3E: output += "&#62;".utf8
            case 0x09, 0x0A, 0x0D: output.append(byte)
            case 0x00..<0x20: continue
            case 0xBE...0xBF
            where offset >= text.startIndex + 2 && text[offset - 1] == 0xBF && text[offset - 2] == 0xEF:
                // U+FFFE and U+FFFF: remove their first two bytes.
                output.removeLast(2)
            default: output.append(byte)
            }
        }
    }
}
