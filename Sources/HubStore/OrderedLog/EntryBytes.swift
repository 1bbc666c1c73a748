package import HubProtocol
package import HubRouting

/// Writes the parts of an entry, or of a message between nodes.
package struct EntryWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func append(_ byte: UInt8) { bytes.append(byte) }
    package mutating func append(raw: some Sequence<UInt8>) { bytes.append(contentsOf: raw) }

    /// Appends a number with seven bits per byte, the lowest first; the high bit is set if more bytes follow.
    package mutating func append(number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Appends a signed number; small numbers of either sign take few bytes.
    package mutating func append(signed number: Int64) {
        append(number: UInt64(bitPattern: (number << 1) ^ (number >> 63)))
    }

    package mutating func append(counted raw: some Collection<UInt8>) {
        append(number: UInt64(raw.count))
        append(raw: raw)
    }

    package mutating func append(text: String) { append(counted: text.utf8) }

    package mutating func append(value: some EntryValue) { value.append(to: &self) }

    package mutating func append<Element>(list: [Element], _ write: (inout EntryWriter, Element) -> Void) {
        append(number: UInt64(list.count))
        for element in list { write(&self, element) }
    }
}

/// Reads the parts of an entry, or of a message between nodes; the bytes cannot be trusted.
package struct EntryReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) { rest = bytes[...] }

    package var isAtEnd: Bool { rest.isEmpty }

    package mutating func byte() throws(LogEntryError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw .damaged("it ends early") }
        return byte
    }

    package mutating func raw(_ count: Int) throws(LogEntryError) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw .damaged("it ends early") }
        defer { rest.removeFirst(count) }
        return rest.prefix(count)
    }

    package mutating func number() throws(LogEntryError) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: 0, through: 63, by: 7) {
            let byte = try byte()
            // The tenth byte has only one significant bit.
            guard shift < 63 || byte <= 1 else { break }
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        throw .damaged("a number is too large")
    }

    package mutating func signed() throws(LogEntryError) -> Int64 {
        let number = try number()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    /// The number of items that follow, each of which takes at least one byte.
    package mutating func count() throws(LogEntryError) -> Int {
        guard let count = Int(exactly: try number()), count <= rest.count else {
            throw .damaged("a count is too large")
        }
        return count
    }

    package mutating func counted() throws(LogEntryError) -> ArraySlice<UInt8> { try raw(try count()) }

    package mutating func text() throws(LogEntryError) -> String {
        guard let text = String(validating: try counted(), as: UTF8.self) else {
            throw .damaged("a text is not UTF-8")
        }
        return text
    }

    package mutating func value<Value: EntryValue>() throws(LogEntryError) -> Value { try Value(reading: &self) }

    package mutating func list<Element>(
        _ read: (inout EntryReader) throws(LogEntryError) -> Element
    ) throws(LogEntryError) -> [Element] {
        let count = try count()
        var list: [Element] = []
        for _ in 0..<count { list.append(try read(&self)) }
        return list
    }
}

/// A value that log entries can contain.
package protocol EntryValue: Sendable {
    func append(to writer: inout EntryWriter)
    /// - Throws: ``LogEntryError`` for bytes that are not the form of such a value.
    init(reading reader: inout EntryReader) throws(LogEntryError)
}

/// A value that takes no bytes.
package protocol EmptyValue: EntryValue {
    init()
}

extension EmptyValue {
    package func append(to writer: inout EntryWriter) {}
    package init(reading reader: inout EntryReader) { self.init() }
}

/// The keys of an effect whose kind and hub say all.
package struct NoKeys: EmptyValue {
    package init() {}
}

extension StoredNumber {
    package func append(to writer: inout EntryWriter) { writer.append(signed: rawValue) }
    package init(reading reader: inout EntryReader) throws(LogEntryError) { self.init(rawValue: try reader.signed()) }
}

extension HubKey: EntryValue {}
extension Ordinal: EntryValue {}
extension LogSequence: EntryValue {}
extension Timestamp: EntryValue {}

extension Int: EntryValue {
    package func append(to writer: inout EntryWriter) { writer.append(signed: Int64(self)) }
    package init(reading reader: inout EntryReader) throws(LogEntryError) { self.init(try reader.signed()) }
}

extension Bool: EntryValue {
    package func append(to writer: inout EntryWriter) { writer.append(self ? 1 : 0) }

    package init(reading reader: inout EntryReader) throws(LogEntryError) {
        let byte = try reader.byte()
        guard byte <= 1 else { throw .damaged("a flag is neither 0 nor 1") }
        self = byte == 1
    }
}

extension Optional: EntryValue where Wrapped: EntryValue {
    package func append(to writer: inout EntryWriter) {
        writer.append(value: self != nil)
        if let self { writer.append(value: self) }
    }

    package init(reading reader: inout EntryReader) throws(LogEntryError) {
        let isThere: Bool = try reader.value()
        self = isThere ? try Wrapped(reading: &reader) : nil
    }
}

extension Array: EntryValue where Element: EntryValue {
    package func append(to writer: inout EntryWriter) { writer.append(list: self) { $0.append(value: $1) } }

    package init(reading reader: inout EntryReader) throws(LogEntryError) {
        self = try reader.list { reader throws(LogEntryError) in try reader.value() }
    }
}
