// For normalization form C; the standard library's implementation is not public.
internal import Foundation

/// Text that is safe to show: one line, composed (NFC), without control, bidirectional or zero-width characters.
package enum PlainText {
    /// Cleans text without markup.
    ///
    /// - Parameters:
    ///   - text: Text in which `<` and `&` are literal.
    ///   - limit: The largest number of characters; a longer text ends in an ellipsis, after a whole word if
    ///     possible.
    /// - Returns: One line, empty when nothing can be shown.
    package static func clean(_ text: String, limit: Int) -> String {
        var writer = PlainTextWriter(limit: limit)
        var text = text
        text.withUTF8 { writer.append($0) }
        return writer.finish()
    }

    /// Cleans text in UTF-8 without markup.
    package static func clean(_ utf8: ArraySlice<UInt8>, limit: Int) -> String {
        var writer = PlainTextWriter(limit: limit)
        utf8.withUnsafeBufferPointer { writer.append($0) }
        return writer.finish()
    }
}

/// Collects plain text, merging white space and dropping characters that must not be shown.
struct PlainTextWriter {
    /// The number of characters before the limit that are searched for the end of a word.
    private static let wordSlack = 24

    private let limit: Int
    private let capacity: Int
    private var bytes: [UInt8] = []
    /// Number of Unicode scalars written.
    private var count = 0
    /// The ``count`` at which characters are counted again; one character may have many scalars.
    private var nextCheck: Int
    private var owesSpace = false
    private var isASCII = true
    private var mayDecompose = false
    /// True if more than the limit has been written.
    private(set) var isFull = false

    /// - Parameter limit: The largest number of characters, at least 1; scalars are limited to eight times as many.
    init(limit: Int) {
        self.limit = max(1, limit)
        capacity = self.limit * 8
        nextCheck = self.limit + 1
    }

    mutating func appendSpace() {
        owesSpace = count > 0
    }

    /// Appends UTF-8, and drops invalid bytes.
    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < text.count, !isFull {
            let start = index
            while index < text.count, 0x21...0x7E ~= text[index] { index += 1 }
            if index > start { appendVisible(text[start..<index]) }
            guard index < text.count else { return }
            let byte = text[index]
            if byte < 0x80 {
                if byte == 0x20 || 0x09...0x0D ~= byte { appendSpace() }
                index += 1
            } else {
                let (scalar, length) = Self.scalar(in: text, at: index)
                if let scalar { append(scalar) }
                index += length
            }
        }
    }

    mutating func append(_ text: String) {
        for scalar in text.unicodeScalars { append(scalar) }
    }

    mutating func append(_ scalar: Unicode.Scalar) {
        guard !isFull, let scalar = Unicode.Scalar(Windows1252.remapped(scalar.value)) else { return }
        if Self.isSpace(scalar) { return appendSpace() }
        guard !Self.isDropped(scalar.value) else { return }
        paySpace()
        if scalar.value < 0x80 {
            bytes.append(UInt8(scalar.value))
        } else {
            bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            isASCII = false
            mayDecompose = mayDecompose || !Self.isComposed(scalar.value)
        }
        count += 1
        check()
    }

    func finish() -> String {
        if isASCII { return String(decoding: clippedASCII(), as: UTF8.self) }
        let text = String(decoding: bytes, as: UTF8.self)
        return clipped(mayDecompose ? text.precomposedStringWithCanonicalMapping : text)
    }

    // MARK: Writing

    private mutating func appendVisible(_ run: Slice<UnsafeBufferPointer<UInt8>>) {
        paySpace()
        let room = max(0, capacity + 1 - count)
        bytes.append(contentsOf: run.prefix(room))
        count += min(run.count, room)
        check()
    }

    private mutating func paySpace() {
        guard owesSpace else { return }
        bytes.append(0x20)
        owesSpace = false
        count += 1
    }

    private mutating func check() {
        guard count >= nextCheck || count > capacity else { return }
        let characters = isASCII ? count : String(decoding: bytes, as: UTF8.self).count
        isFull = characters > limit || count > capacity
        nextCheck = count + max(limit + 1 - characters, limit / 4)
    }

    // MARK: Clipping

    private func clippedASCII() -> [UInt8] {
        guard bytes.count > limit else { return bytes }
        let cut = bytes[..<(limit - 1)]
        let near = cut.suffix(Self.wordSlack)
        let end = near.lastIndex(of: 0x20).flatMap { $0 > 0 ? $0 : nil } ?? cut.endIndex
        return Array(cut[..<end]) + Array("…".utf8)
    }

    private func clipped(_ text: String) -> String {
        guard count > limit, let end = text.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex),
            end < text.endIndex
        else { return text }
        var cut = text[..<text.index(before: end)]
        let near = cut.index(cut.endIndex, offsetBy: -Self.wordSlack, limitedBy: cut.startIndex) ?? cut.startIndex
        if let space = cut[near...].lastIndex(of: " "), space > cut.startIndex { cut = cut[..<space] }
        return cut + "…"
    }

    // MARK: Characters

    /// The scalar at a non-ASCII byte, and its length; `nil` for invalid UTF-8.
    private static func scalar(in text: UnsafeBufferPointer<UInt8>, at index: Int) -> (Unicode.Scalar?, Int) {
        let first = text[index]
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, first <= 0xF4, index + length <= text.count else { return (nil, 1) }
        var value = UInt32(first) & (0xFF >> UInt32(length + 1))
        for byte in text[(index + 1)..<(index + length)] {
            guard byte & 0xC0 == 0x80 else { return (nil, 1) }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        return (Unicode.Scalar(value), length)
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20, 0x09...0x0D, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: true
        default: false
        }
    }

    /// True for a scalar that is dropped; the joiners U+200C and U+200D are kept, since Persian words and emoji need
    /// them.
    private static func isDropped(_ value: UInt32) -> Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB: true
        default: value & 0xFFFE == 0xFFFE
        }
    }

    /// True for a scalar that composition (NFC) certainly does not change; false if it might.
    private static func isComposed(_ value: UInt32) -> Bool {
        switch value {
        case ..<0x300, 0x400...0x482, 0x48A...0x58F, 0x2010...0x2125, 0x3041...0x3098, 0x309D...0x9FFF,
            0xAC00...0xD7A3, 0x1F300...0x1FAFF:
            true
        default: false
        }
    }
}
