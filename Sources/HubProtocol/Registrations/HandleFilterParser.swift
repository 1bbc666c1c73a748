import Formats

/// Reads the comparisons of a ``HandleFilter``.
struct HandleFilterParser {
    /// Both parts of a Baidu handle.
    static let baidu = "BaiduUserId-BaiduChannelId"

    /// The properties that a filter may compare, whose names may be in any case: the elements of handles.
    private static let properties = (RegistrationType.all.flatMap(\.handleFields).map(\.name) + [baidu]).distinct()
    private static let named = Dictionary(uniqueKeysWithValues: properties.map { ($0.lowercased(), $0) })

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func parse() throws(ProtocolError) -> [String: String] {
        var parts: [String: String] = [:]
        repeat {
            skipSpace()
            let property = try property()
            try skipWord("eq", after: property)
            guard parts.updateValue(try literal(of: property), forKey: property) == nil else {
                throw Self.failure("\(property) appears twice")
            }
            skipSpace()
            if position == bytes.count { return parts }
            try skipWord("and", after: "the handle")
        } while true
    }

    static func failure(_ reason: String) -> ProtocolError {
        .badRequest("$filter cannot be used: \(reason); its form is \(RegistrationField.channelURI.name) eq '{handle}'")
    }

    private mutating func property() throws(ProtocolError) -> String {
        let start = position
        while position < bytes.count, Self.isNamePart(bytes[position]) { position += 1 }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let property = Self.named[name.lowercased()] else {
            throw Self.failure("'\(name.excerpt)' is not one of \(Self.properties.joined(separator: ", "))")
        }
        return property
    }

    private mutating func skipWord(_ word: String, after what: String) throws(ProtocolError) {
        skipSpace()
        let end = position + word.utf8.count
        guard end < bytes.count, String(decoding: bytes[position..<end], as: UTF8.self).lowercased() == word,
            !Self.isNamePart(bytes[end])
        else { throw Self.failure("'\(word)' is expected after \(what)") }
        position = end
    }

    private mutating func literal(of property: String) throws(ProtocolError) -> String {
        skipSpace()
        let quote = UInt8(ascii: "'")
        var text: [UInt8] = []
        // The JavaScript SDK forgets the first quotation mark of a Baidu channel.
        let isOpened = position < bytes.count && bytes[position] == quote
        if isOpened { position += 1 }
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte != quote {
                text.append(byte)
            } else if position < bytes.count, bytes[position] == quote {
                position += 1
                text.append(quote)
            } else {
                guard isOpened || property == RegistrationField.baiduChannelID.name else { break }
                return String(decoding: text, as: UTF8.self)
            }
        }
        throw Self.failure("\(property) needs a value in single quotes, with quotes inside it doubled")
    }

    private mutating func skipSpace() {
        while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == UInt8(ascii: "+") }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-_".utf8.contains(byte)
    }
}
