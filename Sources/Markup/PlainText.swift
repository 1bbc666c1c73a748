/// Text fit to be shown anywhere: one line, without control, bidirectional or zero-width characters.
package enum PlainText {
    /// How far back from the limit a word's end is looked for, in characters.
    private static let wordSlack = 24

    /// Cleans text that holds no markup.
    ///
    /// - Parameters:
    ///   - text: Text whose `<` and `&` stand for themselves.
    ///   - limit: Characters kept; text that is longer ends in an ellipsis, at the end of a word if one is near.
    /// - Returns: One line, empty when nothing can be shown.
    package static func clean(_ text: String, limit: Int) -> String {
        var writer = PlainTextWriter(limit: limit)
        for scalar in text.unicodeScalars where !writer.isFull { writer.append(scalar) }
        return writer.finish()
    }

    static func clipped(_ text: String, limit: Int) -> String {
        guard let end = text.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex), end < text.endIndex
        else {
            return text
        }
        var cut = text[..<text.index(before: end)]
        let near = cut.index(cut.endIndex, offsetBy: -wordSlack, limitedBy: cut.startIndex) ?? cut.startIndex
        if let space = cut[near...].lastIndex(of: " "), space > cut.startIndex { cut = cut[..<space] }
        return cut + "…"
    }
}

/// Collects plain text, folding white space and dropping what must not be shown.
struct PlainTextWriter {
    private let limit: Int
    private let capacity: Int
    private var text = String.UnicodeScalarView()
    private var count = 0
    private var owesSpace = false

    /// - Parameter limit: Characters, at least 1. Scalars are bounded by eight for each.
    init(limit: Int) {
        self.limit = max(1, limit)
        capacity = self.limit * 8
    }

    var isFull: Bool { count > capacity }

    mutating func appendSpace() {
        owesSpace = count > 0
    }

    mutating func append(_ scalar: Unicode.Scalar) {
        guard !isFull, let scalar = Unicode.Scalar(Windows1252.remapped(scalar.value)) else { return }
        if Self.isSpace(scalar) { return appendSpace() }
        guard !Self.isDropped(scalar.value) else { return }
        if owesSpace {
            text.append(" ")
            owesSpace = false
            count += 1
        }
        text.append(scalar)
        count += 1
    }

    func finish() -> String {
        PlainText.clipped(String(text), limit: limit)
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x80
            ? scalar.value == 0x20 || 0x09...0x0D ~= scalar.value
            : scalar.properties.isWhitespace
    }

    /// Joiners U+200C and U+200D stay: Persian words and emoji are made with them.
    private static func isDropped(_ value: UInt32) -> Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB: true
        default: value & 0xFFFE == 0xFFFE
        }
    }
}
