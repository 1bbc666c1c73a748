/// A strict JSON reader (RFC 8259) that refuses repeated names, bounds nesting and keeps positions.
///
/// Foundation's decoder does none of these, and the hub needs all: with a repeated name, two readers of one document
/// can disagree, and a template keeps its text except for the strings that are replaced.
///
/// Half of a surrogate pair becomes U+FFFD, since senders cut titles carelessly.
package struct JSONReader {
    /// Maximum nesting; each level is a level of recursion here.
    static let maximumDepth = 64

    private let bytes: [UInt8]
    private let allowsRepeats: Bool
    private var position = 0
    private var depth = 0

    /// Reads a document that is one value with nothing but white space around it; a byte order mark is skipped.
    ///
    /// With `allowsRepeats` a name may appear twice in one object, for documents that are passed on unchanged.
    package static func read(_ bytes: [UInt8], allowsRepeats: Bool = false) throws(JSONSyntaxError) -> JSONNode {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw JSONSyntaxError(offset: 0, reason: "the text is not UTF-8")
        }
        var reader = JSONReader(bytes: bytes, allowsRepeats: allowsRepeats)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        reader.skipSpace()
        let node = try reader.value()
        reader.skipSpace()
        guard reader.position == bytes.count else { throw reader.failure("there is text after the value") }
        return node
    }

    private init(bytes: [UInt8], allowsRepeats: Bool) {
        self.bytes = bytes
        self.allowsRepeats = allowsRepeats
    }
}

extension JSONReader {
    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func failure(_ reason: String) -> JSONSyntaxError { JSONSyntaxError(offset: position, reason: reason) }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(JSONSyntaxError) -> JSONNode {
        let start = position
        let content: JSONNode.Content
        switch current {
        case UInt8(ascii: "{"): content = .object(try nested { reader throws(JSONSyntaxError) in try reader.members() })
        case UInt8(ascii: "["): content = .array(try nested { reader throws(JSONSyntaxError) in try reader.elements() })
        case UInt8(ascii: "\""): content = .string(try string())
        case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): content = .number(try number())
        case UInt8(ascii: "t"): content = try word("true", .bool(true))
        case UInt8(ascii: "f"): content = try word("false", .bool(false))
        case UInt8(ascii: "n"): content = try word("null", .null)
        case nil: throw failure("the text ends where a value is expected")
        default: throw failure("a value is expected")
        }
        return JSONNode(content: content, range: start..<position)
    }

    private mutating func nested<Result>(
        _ read: (inout JSONReader) throws(JSONSyntaxError) -> Result
    ) throws(JSONSyntaxError) -> Result {
        guard depth < Self.maximumDepth else { throw failure("nesting is deeper than \(Self.maximumDepth) levels") }
        depth += 1
        defer { depth -= 1 }
        position += 1
        return try read(&self)
    }

    private mutating func members() throws(JSONSyntaxError) -> [JSONMember] {
        var members: [JSONMember] = []
        var names: Set<String> = []
        skipSpace()
        if skip(UInt8(ascii: "}")) { return members }
        while true {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw failure("a member name in quotes is expected") }
            let start = position
            let name = try string()
            guard allowsRepeats || names.insert(name).inserted else {
                position = start
                throw failure("the name '\(name.excerpt)' appears twice in one object")
            }
            skipSpace()
            guard skip(UInt8(ascii: ":")) else { throw failure("':' is expected") }
            skipSpace()
            members.append(JSONMember(name: name, value: try value()))
            skipSpace()
            if skip(UInt8(ascii: "}")) { return members }
            guard skip(UInt8(ascii: ",")) else { throw failure("',' or '}' is expected") }
        }
    }

    private mutating func elements() throws(JSONSyntaxError) -> [JSONNode] {
        var elements: [JSONNode] = []
        skipSpace()
        if skip(UInt8(ascii: "]")) { return elements }
        while true {
            skipSpace()
            elements.append(try value())
            skipSpace()
            if skip(UInt8(ascii: "]")) { return elements }
            guard skip(UInt8(ascii: ",")) else { throw failure("',' or ']' is expected") }
        }
    }

    private mutating func word(
        _ word: String,
        _ content: JSONNode.Content
    ) throws(JSONSyntaxError) -> JSONNode.Content {
        guard bytes[position...].starts(with: word.utf8) else { throw failure("a value is expected") }
        position += word.utf8.count
        return content
    }

    private mutating func number() throws(JSONSyntaxError) -> String {
        let start = position
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try digits() }
        if skip(UInt8(ascii: ".")) { try digits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
        guard position > start else { throw failure("a digit is expected") }
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        let start = position + 1
        var end = start
        while end < bytes.count, bytes[end] >= 0x20, bytes[end] != UInt8(ascii: "\\") {
            if bytes[end] == UInt8(ascii: "\"") {
                position = end + 1
                return String(decoding: bytes[start..<end], as: UTF8.self)
            }
            end += 1
        }
        return try escapedString()
    }

    private mutating func escapedString() throws(JSONSyntaxError) -> String {
        var scanner = JSONStringScanner(bytes: bytes, position: position + 1)
        var text = String.UnicodeScalarView()
        defer { position = scanner.position }
        while let scalar = try scanner.next() { text.append(scalar) }
        return String(text)
    }
}
