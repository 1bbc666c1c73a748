/// Splits a file of registrations, which arrives in pieces, into its records.
///
/// A record is a line. If its template contains line ends, as in other exports, the record continues to the line with
/// its closing tag. If another description begins before that, the record is broken and ends there.
package struct RegistrationRecords: Sendable {
    package struct Record: Sendable, Equatable {
        /// Without the end of the last line; only the beginning of a record above ``maximumBytes``.
        package let bytes: [UInt8]
        /// The number of its first line, from 1.
        package let number: Int
        /// Its end: bytes and lines from the start of the file.
        package let end: Position

        package var isTooLong: Bool { bytes.count > RegistrationRecords.maximumBytes }
    }

    /// A place between two records.
    package struct Position: Sendable, Equatable, Codable {
        package var bytes: Int64 = 0
        package var lines = 0

        package init() {}
    }

    /// Maximum size of a record in bytes: an export writes some characters as references, and repeats push variables.
    package static let maximumBytes = 8 * Registration.maximumBytes

    private struct Line {
        /// At most one byte more than the maximum of a record.
        var text: [UInt8] = []
        /// Number of bytes read, including the line end.
        var length: Int64 = 0
    }

    /// Everything before this position is in records that were returned, or in ``open``.
    private var position: Position
    private var whole: [Line] = []
    private var next = 0
    private var unfinished = Line()
    private var open: (bytes: [UInt8], number: Int, closing: [UInt8])?
    private var isAtEnd = false

    /// Continues after the end of a record.
    package init(at position: Position = Position()) { self.position = position }

    /// Adds a piece of the file; read all records before the next piece, because unread lines stay in memory.
    package mutating func append(_ bytes: [UInt8]) {
        whole.removeFirst(next)
        next = 0
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            extend(rest[..<end], by: 1)
            whole.append(unfinished)
            unfinished = Line()
            rest = rest[(end + 1)...]
        }
        extend(rest, by: 0)
    }

    /// Ends the file after the appended pieces.
    package mutating func finish() {
        isAtEnd = true
        if unfinished.length > 0 { whole.append(unfinished) }
        unfinished = Line()
    }

    private mutating func extend(_ bytes: ArraySlice<UInt8>, by end: Int64) {
        unfinished.text += bytes.prefix(Self.maximumBytes + 1 - unfinished.text.count)
        unfinished.length += Int64(bytes.count) + end
    }

    /// The next record; `nil` if it is incomplete, or at the end.
    package mutating func nextRecord() -> Record? {
        while next < whole.count {
            let text = Self.trimmed(whole[next].text, isFirst: position.bytes == 0)
            if let record = endBroken(before: text) { return record }
            position.bytes += whole[next].length
            position.lines += 1
            next += 1
            if let record = take(text) { return record }
        }
        return isAtEnd ? endBroken(before: nil) : nil
    }

    /// Ends a record that lacks its closing tag where another one begins, or the file ends.
    private mutating func endBroken(before text: [UInt8]?) -> Record? {
        guard let begun = open, text.map(Self.beginsDescription) ?? true else { return nil }
        open = nil
        return Record(bytes: begun.bytes, number: begun.number, end: position)
    }

    private mutating func take(_ text: [UInt8]) -> Record? {
        if var begun = open {
            begun.bytes.append(UInt8(ascii: "\n"))
            begun.bytes += text.prefix(Self.maximumBytes + 1)
            guard text.contains(begun.closing) || begun.bytes.count > Self.maximumBytes else {
                open = begun
                return nil
            }
            open = nil
            return Record(bytes: begun.bytes, number: begun.number, end: position)
        }
        guard text.contains(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else { return nil }
        guard text.count <= Self.maximumBytes, let closing = Self.closingTag(of: text), !text.contains(closing) else {
            return Record(bytes: text, number: position.lines, end: position)
        }
        open = (text, position.lines, closing)
        return nil
    }

    private static func trimmed(_ line: [UInt8], isFirst: Bool) -> [UInt8] {
        let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
        return Array(isFirst && text.starts(with: [0xEF, 0xBB, 0xBF]) ? text.dropFirst(3) : text)
    }

    private static func beginsDescription(_ line: [UInt8]) -> Bool { closingTag(of: line) != nil }

    /// The tag that ends the description that a line begins with; `nil` when it begins with none.
    private static func closingTag(of line: [UInt8]) -> [UInt8]? {
        var rest = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        // An XML declaration may come first.
        if rest.starts(with: "<?".utf8), let end = rest.firstIndex(of: UInt8(ascii: ">")) { rest = rest[(end + 1)...] }
        guard rest.first == UInt8(ascii: "<") else { return nil }
        let name = rest.dropFirst().prefix { byte in
            ![UInt8(ascii: " "), UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "\t")].contains(byte)
        }
        guard Array(name).contains(Array("RegistrationDescription".utf8)) else { return nil }
        return Array("</".utf8) + name
    }
}
