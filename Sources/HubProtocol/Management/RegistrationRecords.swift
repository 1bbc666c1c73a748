/// Cuts a file of registrations into its records, as it comes in pieces.
///
/// A record is a line. One whose template has line ends of its own, as other exports write them, goes on to the line with
/// its closing tag; where another description begins before that, the record ends there, broken.
package struct RegistrationRecords: Sendable {
    package struct Record: Sendable, Equatable {
        /// Without the end of the last line; of a record above ``maximumBytes`` its beginning.
        package let bytes: [UInt8]
        /// The number of its first line, from 1.
        package let number: Int
        /// Where it ends: bytes and lines from the start of the file.
        package let end: Position

        package var isTooLong: Bool { bytes.count > RegistrationRecords.maximumBytes }
    }

    /// A place between two records.
    package struct Position: Sendable, Equatable, Codable {
        package var bytes: Int64 = 0
        package var lines = 0

        package init() {}
    }

    /// Bytes of a record: an export writes some characters as references, and repeats push variables.
    package static let maximumBytes = 8 * Registration.maximumBytes

    private struct Line {
        /// At most one byte more than a record has.
        var text: [UInt8] = []
        /// All that was read of it.
        var length: Int64 = 0
    }

    /// Everything before is in records that were given out, or in ``open``.
    private var position: Position
    private var whole: [Line] = []
    private var next = 0
    private var unfinished = Line()
    private var open: (bytes: [UInt8], number: Int, closing: [UInt8])?
    private var isAtEnd = false

    /// Goes on where a record has ended.
    package init(at position: Position = Position()) { self.position = position }

    /// Takes a piece of the file; take all records before the next one, or what waits grows.
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

    /// Nothing comes after what was appended.
    package mutating func finish() {
        isAtEnd = true
        if unfinished.length > 0 { whole.append(unfinished) }
        unfinished = Line()
    }

    private mutating func extend(_ bytes: ArraySlice<UInt8>, by end: Int64) {
        unfinished.text += bytes.prefix(Self.maximumBytes + 1 - unfinished.text.count)
        unfinished.length += Int64(bytes.count) + end
    }

    /// The next record, `nil` when more has to come, or at the end.
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
