/// A cursor over the bytes of a document that is being repaired.
struct XMLRepairInput {
    struct Tag {
        var attributes: [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)] = []
        var isEmptyElement = false
    }

    private let bytes: [UInt8]
    var position = 0
    /// Quotation marks that do not occur again; each is searched for once, to avoid quadratic time.
    private var exhaustedQuotes: Set<UInt8> = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    func peek(_ offset: Int) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    mutating func advance(_ count: Int) {
        position = min(bytes.count, position + count)
    }

    mutating func skip(_ prefix: StaticString) -> Bool {
        guard matches(prefix, at: position) else { return false }
        position += prefix.utf8CodeUnitCount
        return true
    }

    /// Moves past the next occurrence; if there is none, moves to the end and returns false.
    mutating func skip(past end: StaticString) -> Bool {
        take(upTo: end) != nil
    }

    /// Reads the bytes before the next occurrence and skips it; if there is none, moves to the end and returns `nil`.
    mutating func take(upTo end: StaticString) -> ArraySlice<UInt8>? {
        let start = position
        while position < bytes.count {
            if matches(end, at: position) {
                defer { position += end.utf8CodeUnitCount }
                return bytes[start..<position]
            }
            position += 1
        }
        return nil
    }

    mutating func takeText() -> ArraySlice<UInt8> {
        take { $0 != 0x3C }
    }

    /// Reads a name; empty when no name begins here.
    mutating func takeName() -> ArraySlice<UInt8> {
        guard let first = current, Self.isNameByte(first), !(0x2D...0x39 ~= first) else { return [] }
        return take(while: Self.isNameByte)
    }

    /// Reads the rest of a start tag, even if it is malformed; `nil` when the input ends in it.
    mutating func takeAttributes() -> Tag? {
        var tag = Tag()
        while let byte = current {
            switch byte {
            case 0x3E:
                position += 1
                return tag
            case 0x3C: return tag
            case 0x2F where peek(1) == 0x3E:
                position += 2
                tag.isEmptyElement = true
                return tag
            default:
                let name = takeName()
                guard !name.isEmpty else {
                    position += 1
                    continue
                }
                let value = takeValue() ?? name
                guard tag.attributes.count < XMLLimits.attributes, !tag.attributes.contains(where: { $0.name == name })
                else { continue }
                tag.attributes.append((name, value))
            }
        }
        return nil
    }

    /// Reads a value; `nil` for an attribute without one.
    private mutating func takeValue() -> ArraySlice<UInt8>? {
        let start = position
        _ = take(while: Self.isSpace)
        guard current == 0x3D else {
            position = start
            return nil
        }
        position += 1
        _ = take(while: Self.isSpace)
        guard let quote = current, quote == 0x22 || quote == 0x27 else {
            return take { !Self.isSpace($0) && $0 != 0x3E && $0 != 0x3C }
        }
        position += 1
        let first = position
        if !exhaustedQuotes.contains(quote) {
            let value = take { $0 != quote }
            if current == quote {
                position += 1
                return value
            }
            exhaustedQuotes.insert(quote)
            position = first
        }
        return take { $0 != 0x3E && $0 != 0x3C }
    }

    mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        while position < bytes.count, condition(bytes[position]) { position += 1 }
        return bytes[start..<position]
    }

    private func matches(_ text: StaticString, at index: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard index + count <= bytes.count else { return false }
        for offset in 0..<count where bytes[index + offset] != text.utf8Start[offset] { return false }
        return true
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }

    /// True for a byte that may follow the name of a start tag.
    static func endsName(_ byte: UInt8) -> Bool { isSpace(byte) || byte == 0x3E || byte == 0x2F || byte == 0x3C }

    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x41...0x5A, 0x61...0x7A, 0x30...0x3A, 0x2D, 0x2E, 0x5F, 0x80...: true
        default: false
        }
    }
}
