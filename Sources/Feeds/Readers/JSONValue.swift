/// A JSON value that is read as far as possible: a truncated document still yields its complete parts.
enum JSONValue: Sendable, Equatable {
    case object([String: JSONValue])
    case array([JSONValue])
    case string(String)
    /// A number as written, since identifiers can be numbers of any length.
    case number(String)
    case bool(Bool)
    case null

    subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The text of a string, and also of a number if `numbers` is true.
    func text(numbers: Bool = false) -> String? {
        switch self {
        case .string(let text): text
        case .number(let text) where numbers: text
        default: nil
        }
    }

    /// The values of an array; any other value counts as an array of one.
    var list: [JSONValue] {
        switch self {
        case .array(let values): values
        case .null: []
        default: [self]
        }
    }
}

/// Reads JSON (RFC 8259) up to its end or its first fault.
///
/// Arrays and objects that are not closed are kept; an array drops its last, incomplete element.
struct JSONScanner {
    /// The largest nesting depth of arrays and objects; a feed needs five.
    private static let maximumDepth = 64
    /// The largest number of values in one document; a feed of five thousand items has about 100,000.
    private static let maximumValues = 500_000

    private let bytes: [UInt8]
    private var position = 0
    private var valueCount = 0
    private(set) var fault: String?
    /// True if the document's value was read to its end; any fault is after it.
    private(set) var isComplete = false

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the document's value; `nil` when no value begins here.
    mutating func document() -> JSONValue? {
        let value = self.value(depth: 0)
        isComplete = fault == nil
        skipSpace()
        if value != nil, fault == nil, position < bytes.count { fail("text follows the document") }
        return value
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func fail(_ reason: String) {
        guard fault == nil else { return }
        if position >= bytes.count {
            fault = "the document ends early"
        } else {
            let line = 1 + bytes[..<position].reduce(0) { $0 + ($1 == 0x0A ? 1 : 0) }
            fault = "line \(line): \(reason)"
        }
    }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || 0x09...0x0D ~= byte { position += 1 }
    }

    private mutating func value(depth: Int) -> JSONValue? {
        skipSpace()
        guard depth < Self.maximumDepth else {
            fail("values are nested deeper than \(Self.maximumDepth)")
            return nil
        }
        valueCount += 1
        guard valueCount <= Self.maximumValues else {
            fail("the document has more than \(Self.maximumValues) values")
            return nil
        }
        switch current {
        case 0x7B: return object(depth: depth)
        case 0x5B: return array(depth: depth)
        case 0x22: return string().map(JSONValue.string)
        case 0x2D?, .some(0x30...0x39): return number()
        default: return literal()
        }
    }

    private mutating func object(depth: Int) -> JSONValue? {
        position += 1
        var members: [String: JSONValue] = [:]
        while fault == nil {
            skipSpace()
            if current == 0x7D {
                position += 1
                return .object(members)
            }
            guard current == 0x22, let name = string() else {
                fail("a member's name was expected")
                break
            }
            skipSpace()
            guard current == 0x3A else {
                fail("':' was expected")
                break
            }
            position += 1
            if let value = value(depth: depth + 1), members[name] == nil { members[name] = value }
            separator(end: 0x7D)
        }
        return .object(members)
    }

    private mutating func array(depth: Int) -> JSONValue? {
        position += 1
        var values: [JSONValue] = []
        while fault == nil {
            skipSpace()
            if current == 0x5D {
                position += 1
                return .array(values)
            }
            guard let value = value(depth: depth + 1), fault == nil else { break }
            values.append(value)
            separator(end: 0x5D)
        }
        return .array(values)
    }

    /// Skips a separator; a trailing comma is common and is ignored.
    private mutating func separator(end: UInt8) {
        guard fault == nil else { return }
        skipSpace()
        if current == 0x2C {
            position += 1
        } else if current != end {
            fail("',' or the end of the list was expected")
        }
    }

    private mutating func number() -> JSONValue? {
        let start = position
        while let byte = current, 0x30...0x39 ~= byte || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains(byte) { position += 1 }
        return .number(String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func literal() -> JSONValue? {
        let literals: [(StaticString, JSONValue)] = [("true", .bool(true)), ("false", .bool(false)), ("null", .null)]
        for (word, value) in literals where bytes[position...].starts(with: "\(word)".utf8) {
            position += word.utf8CodeUnitCount
            return value
        }
        fail("a value was expected")
        return nil
    }

    private mutating func string() -> String? {
        position += 1
        var text: [UInt8] = []
        while let byte = current {
            position += 1
            switch byte {
            case 0x22: return String(decoding: text, as: UTF8.self)
            case 0x5C: escape(into: &text)
            default: text.append(byte)
            }
        }
        fail("")
        return nil
    }

    private mutating func escape(into text: inout [UInt8]) {
        guard let byte = current else { return }
        position += 1
        switch byte {
        case 0x62: text.append(0x08)
        case 0x66: text.append(0x0C)
        case 0x6E: text.append(0x0A)
        case 0x72: text.append(0x0D)
        case 0x74: text.append(0x09)
        case 0x75:
            guard let first = unit() else { return }
            var units = [first]
            if 0xD800...0xDBFF ~= first, current == 0x5C, position + 1 < bytes.count, bytes[position + 1] == 0x75 {
                position += 2
                if let second = unit() { units.append(second) }
            }
            text += String(decoding: units, as: UTF16.self).utf8
        default: text.append(byte)
        }
    }

    private mutating func unit() -> UInt16? {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else {
            return nil
        }
        position += 4
        return unit
    }
}
