/// The reader of all JSON (RFC 8259) from outside this process.
///
/// It bounds size, nesting and the number of values, and keeps the place of each value, since a template keeps its text
/// except for the strings that are replaced. Half of a surrogate pair becomes U+FFFD, since senders cut titles
/// carelessly.
package struct JSONReader {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private let allowsRepeats: Bool
    private let isLenient: Bool
    private var position = 0
    /// Number of arrays and objects that are open; each is a level of recursion.
    private var depth = 0
    private var valueCount = 0
    /// The first fault, which ends the reading.
    private var fault: JSONSyntaxError?
    /// True if the document's value was read to its end.
    private var isComplete = false

    /// Reads a document that is one value with nothing but white space around it; a byte order mark is skipped.
    ///
    /// With `allowsRepeats` a name may appear twice in one object: for documents that are passed on unchanged. Other
    /// documents must not have two meanings for two readers.
    package static func read(
        _ bytes: [UInt8],
        allowsRepeats: Bool = false,
        limits: JSONLimits = .foreign
    ) throws(JSONSyntaxError) -> JSONNode {
        guard bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil else {
            throw JSONSyntaxError(offset: 0, reason: "the text is not UTF-8")
        }
        var reader = JSONReader(bytes, limits, allowsRepeats: allowsRepeats, isLenient: false)
        let node = reader.document()
        guard let node, reader.fault == nil else { throw reader.fault ?? reader.failure("a value is expected") }
        return node
    }

    /// Reads a value of a type from a document; of a repeated name the first member counts.
    ///
    /// - Throws: ``JSONSyntaxError`` for a text that is not JSON or exceeds a limit, or a `DecodingError`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from bytes: [UInt8],
        limits: JSONLimits = .foreign
    ) throws -> Value {
        try JSONNodeDecoder.decode(type, from: try read(bytes, allowsRepeats: true, limits: limits))
    }

    /// Reads a value of a type from a text.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from text: some StringProtocol,
        limits: JSONLimits = .foreign
    ) throws -> Value {
        try decode(type, from: Array(text.utf8), limits: limits)
    }

    /// The part of a document that could be read.
    package struct LenientResult: Sendable {
        /// `nil` if no value begins at the start.
        package let value: JSONNode?
        package let fault: JSONSyntaxError?
        /// True if the value was read to its end; any fault is after it.
        package let isComplete: Bool
    }

    /// Reads a document up to its end or its first fault: a truncated one still yields its complete parts.
    ///
    /// Arrays and objects that are not closed are kept, an array without its last, incomplete element. Trailing commas,
    /// repeated names, control characters in strings, unknown escapes, and numbers in other forms are accepted. Invalid
    /// UTF-8 becomes U+FFFD.
    package static func readLeniently(_ bytes: [UInt8], limits: JSONLimits = .foreign) -> LenientResult {
        var reader = JSONReader(bytes, limits, allowsRepeats: true, isLenient: true)
        let value = reader.document()
        return LenientResult(value: value, fault: reader.fault, isComplete: reader.isComplete)
    }

    private init(_ bytes: [UInt8], _ limits: JSONLimits, allowsRepeats: Bool, isLenient: Bool) {
        self.bytes = bytes
        self.limits = limits
        self.allowsRepeats = allowsRepeats
        self.isLenient = isLenient
    }
}

// The methods below record the first fault instead of throwing it, and return what they have read: a lenient caller
// keeps it.
extension JSONReader {
    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func failure(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(offset: position, reason: reason) }

    private mutating func fail(_ reason: String) {
        if fault == nil { fault = failure(reason) }
    }

    private mutating func skipSpace() {
        while let byte = current {
            switch byte {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            case 0x0B where isLenient, 0x0C where isLenient:
                position += 1
            default: return
            }
        }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func document() -> JSONNode? {
        guard bytes.count <= limits.bytes else {
            fail("the text is larger than \(limits.bytes) bytes")
            return nil
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        skipSpace()
        let node = value()
        isComplete = fault == nil
        skipSpace()
        if position < bytes.count { fail("there is text after the value") }
        return node
    }

    private mutating func value() -> JSONNode? {
        let start = position
        valueCount += 1
        guard valueCount <= limits.values else {
            fail("the text has more than \(limits.values) values")
            return nil
        }
        guard let content = content() else { return nil }
        return JSONNode(content: content, range: start..<position)
    }

    private mutating func content() -> JSONNode.Content? {
        switch current {
        case UInt8(ascii: "{"): return open() ? .object(members()) : nil
        case UInt8(ascii: "["): return open() ? .array(elements()) : nil
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return number().map { .number($0) }
        case UInt8(ascii: "t"): return word("true", .bool(true))
        case UInt8(ascii: "f"): return word("false", .bool(false))
        case UInt8(ascii: "n"): return word("null", .null)
        case nil: fail("the text ends where a value is expected")
        default: fail("a value is expected")
        }
        return nil
    }

    /// Consumes an opening bracket.
    private mutating func open() -> Bool {
        guard depth < limits.depth else {
            fail("nesting is deeper than \(limits.depth) levels")
            return false
        }
        depth += 1
        position += 1
        return true
    }

    private mutating func members() -> [JSONMember] {
        defer { depth -= 1 }
        var members: [JSONMember] = []
        var names: Set<String> = []
        while !close(UInt8(ascii: "}"), isEmpty: members.isEmpty), fault == nil {
            let start = position
            guard current == UInt8(ascii: "\"") else {
                fail("a member name in quotes is expected")
                break
            }
            guard let name = string() else { break }
            if !allowsRepeats, !names.insert(name).inserted {
                position = start
                fail("the name '\(name.printable)' appears twice in one object")
                break
            }
            skipSpace()
            guard skip(UInt8(ascii: ":")) else {
                fail("':' is expected")
                break
            }
            skipSpace()
            guard let value = value() else { break }
            members.append(JSONMember(name: name, value: value))
        }
        return members
    }

    private mutating func elements() -> [JSONNode] {
        defer { depth -= 1 }
        var elements: [JSONNode] = []
        while !close(UInt8(ascii: "]"), isEmpty: elements.isEmpty), fault == nil {
            guard let value = value(), fault == nil else { break }
            elements.append(value)
        }
        return elements
    }

    /// Consumes the closing bracket, or else what separates the next element from the last.
    private mutating func close(_ bracket: UInt8, isEmpty: Bool) -> Bool {
        guard fault == nil else { return false }
        skipSpace()
        if skip(bracket) { return true }
        guard !isEmpty else { return false }
        guard skip(UInt8(ascii: ",")) else {
            fail("',' or '\(Unicode.Scalar(bracket))' is expected")
            return false
        }
        skipSpace()
        return isLenient && skip(bracket)
    }

    private mutating func word(_ word: StaticString, _ content: JSONNode.Content) -> JSONNode.Content? {
        let isThere = word.withUTF8Buffer { bytes[position...].starts(with: $0) }
        guard isThere else {
            fail("a value is expected")
            return nil
        }
        position += word.utf8CodeUnitCount
        return content
    }

    private mutating func number() -> String? {
        let start = position
        if isLenient {
            while let byte = current, Self.isPartOfNumber(byte) { position += 1 }
        } else {
            _ = skip(UInt8(ascii: "-"))
            if !skip(UInt8(ascii: "0")) { digits() }
            if skip(UInt8(ascii: ".")) { digits() }
            if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
                if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
                digits()
            }
            guard fault == nil else { return nil }
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private static func isPartOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    private mutating func digits() {
        let start = position
        while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
        if position == start { fail("a digit is expected") }
    }

    private mutating func string() -> String? {
        let start = position + 1
        var end = start
        while end < bytes.count, bytes[end] >= 0x20, bytes[end] != UInt8(ascii: "\\") {
            if bytes[end] == UInt8(ascii: "\"") {
                position = end + 1
                return String(decoding: bytes[start..<end], as: UTF8.self)
            }
            end += 1
        }
        return unusualString()
    }

    /// Reads a string with escapes or faults.
    private mutating func unusualString() -> String? {
        var scanner = JSONStringScanner(bytes: bytes, position: position + 1, isLenient: isLenient)
        defer { position = scanner.position }
        do {
            return try scanner.rest()
        } catch {
            if fault == nil { fault = error }
            return nil
        }
    }
}

extension String {
    /// The beginning, in the form for errors.
    fileprivate var printable: String {
        String(UnicodeScalarView(unicodeScalars.prefix(80).map { $0.isPrintable ? $0 : "\u{FFFD}" }))
    }
}
