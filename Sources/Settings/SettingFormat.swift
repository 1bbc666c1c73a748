internal import HubProtocol
internal import NetworkAddresses

/// How a text becomes a value of a setting, and back.
package struct SettingFormat<Value: Sendable>: Sendable {
    let type: String
    var range: String?
    var nature = SettingNature.plain
    let parse: @Sendable (String) throws(SettingValueError) -> Value
    let show: @Sendable (Value) -> String

    init(
        _ type: String,
        range: String? = nil,
        nature: SettingNature = .plain,
        show: @escaping @Sendable (Value) -> String,
        parse: @escaping @Sendable (String) throws(SettingValueError) -> Value
    ) {
        self.type = type
        self.range = range
        self.nature = nature
        self.parse = parse
        self.show = show
    }
}

/// Why a text is no value of its setting, as the end of a sentence: "must be …".
package struct SettingValueError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

extension SettingFormat<String> {
    /// Any text on one line.
    static let text = SettingFormat("text", show: { $0 }, parse: Self.singleLine)
    static let path = SettingFormat("path", nature: .path, show: { $0 }, parse: Self.singleLine)
    static let program = SettingFormat("program", nature: .program, show: { $0 }, parse: Self.singleLine)

    /// The path of a file with a connection string in it.
    static let secretFile = SettingFormat("path", nature: .secretFile, show: { $0 }) {
        text throws(SettingValueError) in
        // Whoever puts the string itself here must not find it in a log.
        guard !text.contains("SharedAccessKey") else {
            throw SettingValueError(
                "must be the path of a file that holds the connection string, not the string itself"
            )
        }
        return try Self.singleLine(text)
    }

    /// The path of a file with a private key in it.
    static let keyFile = SettingFormat("path", nature: .secretFile, show: { $0 }) { text throws(SettingValueError) in
        guard !text.contains("PRIVATE KEY") else {
            throw SettingValueError("must be the path of a file that holds the key, not the key itself")
        }
        return try Self.singleLine(text)
    }

    static let address = SettingFormat("address", show: { $0 }) { text throws(SettingValueError) in
        guard !text.isEmpty, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "/") }) else {
            throw SettingValueError("must be an address or a name of this machine, such as 127.0.0.1")
        }
        return text
    }

    static let hubName = SettingFormat("hub name", show: { $0 }) { text throws(SettingValueError) in
        do throws(ProtocolError) {
            return try HubName(text).text
        } catch {
            throw SettingValueError("'\(text)' cannot be used: \(error.detail)")
        }
    }

    /// What may stand in the comment of a `User-Agent` field and in one segment of a path.
    static let contact = SettingFormat("URL or e-mail address", range: "up to 200 bytes", show: { $0 }) {
        text throws(SettingValueError) in
        guard (1...200).contains(text.utf8.count),
            text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"()\\".utf8.contains($0) })
        else { throw SettingValueError("must be a URL or an e-mail address of ASCII without spaces and parentheses") }
        return text
    }

    /// A name under which a publisher announces its categories.
    static let publisherName = SettingFormat("name", range: "up to 64 letters, digits, '.', '_', '-'", show: { $0 }) {
        text throws(SettingValueError) in
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isName, (1...64).contains(text.utf8.count), text != ".", text != ".." else {
            throw SettingValueError("must be 1 to 64 letters, digits, '.', '_' or '-'")
        }
        return text
    }

    private static let singleLine: @Sendable (String) throws(SettingValueError) -> String = {
        text throws(SettingValueError) in
        guard !text.isEmpty, text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
            throw SettingValueError("must be a text on one line")
        }
        return text
    }
}

extension SettingFormat<Bool> {
    static let flag = SettingFormat("true or false", show: { "\($0)" }) { text throws(SettingValueError) in
        switch text {
        case "true": return true
        case "false": return false
        default: throw SettingValueError("must be true or false")
        }
    }
}

extension SettingFormat<Int> {
    static func wholeNumber(_ range: ClosedRange<Int>) -> SettingFormat {
        let bounds = "\(range.lowerBound) to \(range.upperBound)"
        return SettingFormat("whole number", range: bounds, show: { "\($0)" }) { text throws(SettingValueError) in
            guard let number = Int(text), range.contains(number) else { throw SettingValueError("must be \(bounds)") }
            return number
        }
    }
}

extension SettingFormat<Int64> {
    /// Bytes, with a unit.
    static func size(_ range: ClosedRange<Int64>) -> SettingFormat {
        let bounds = "\(SettingUnits.size(range.lowerBound)) to \(SettingUnits.size(range.upperBound))"
        return SettingFormat("size", range: bounds, show: SettingUnits.size) { text throws(SettingValueError) in
            guard let bytes = SettingUnits.size(text) else {
                throw SettingValueError("must be a size such as 512MiB or 1GiB")
            }
            guard range.contains(bytes) else { throw SettingValueError("must be \(bounds)") }
            return bytes
        }
    }
}

extension SettingFormat<Duration> {
    static func time(_ range: ClosedRange<Duration>) -> SettingFormat {
        let bounds = "\(SettingUnits.time(range.lowerBound)) to \(SettingUnits.time(range.upperBound))"
        return SettingFormat("time", range: bounds, show: SettingUnits.time) { text throws(SettingValueError) in
            guard let time = SettingUnits.time(text) else {
                throw SettingValueError("must be a time such as 30s, 5m, 72h or 7d")
            }
            guard range.contains(time) else { throw SettingValueError("must be \(bounds)") }
            return time
        }
    }
}

extension SettingFormat<ReservedTagPrefixes> {
    static let tagPrefixes = SettingFormat(
        "list of beginnings of tags",
        nature: .list,
        show: { $0.prefixes.joined(separator: ",") }
    ) { text throws(SettingValueError) in
        let words = text.split(separator: ",").map { $0.trimmed() }
        do throws(ProtocolError) {
            return try ReservedTagPrefixes(words)
        } catch {
            throw SettingValueError("must be beginnings of tags: \(error.detail)")
        }
    }
}

extension SettingFormat<[HostName]> {
    static let hostNames = SettingFormat(
        "list of names and addresses",
        nature: .list,
        show: { $0.map(\.description).joined(separator: ",") }
    ) { text throws(SettingValueError) in
        try words(text) {
            HostName($0)
        } orThrow: {
            "must be names and addresses such as hub.example.org, without ports and '*'; '\($0)' is none"
        }
    }
}

extension SettingFormat<[AddressBlock]> {
    static let addressBlocks = SettingFormat(
        "list of addresses and blocks",
        nature: .list,
        show: { $0.map(\.description).joined(separator: ",") }
    ) { text throws(SettingValueError) in
        try words(text) {
            AddressBlock($0)
        } orThrow: {
            "must be addresses and blocks such as 10.0.0.0/8; '\($0)' is none"
        }
    }
}

/// Reads words with commas between them; at least one.
private func words<Word>(
    _ text: String,
    _ read: (String) -> Word?,
    orThrow reason: (String) -> String
) throws(SettingValueError) -> [Word] {
    var words: [Word] = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false).map({ $0.trimmed() }) {
        guard let value = read(word) else { throw SettingValueError(reason(word)) }
        words.append(value)
    }
    return words
}

extension SettingFormat<CategoryCap> {
    static let cap = SettingFormat("whole number or none", range: "1 to 1000", show: { "\($0)" }) {
        text throws(SettingValueError) in
        if text == "none" { return .none }
        guard let number = Int(text), (1...1_000).contains(number) else {
            throw SettingValueError("must be 1 to 1000, or none")
        }
        return .atMost(number)
    }
}

extension SettingFormat where Value: RawRepresentable, Value: CaseIterable, Value.RawValue == String {
    static var word: SettingFormat {
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return SettingFormat("word", range: words, show: \.rawValue) { text throws(SettingValueError) in
            guard let value = Value(rawValue: text) else { throw SettingValueError("must be one of \(words)") }
            return value
        }
    }
}

extension Substring {
    fileprivate func trimmed() -> String {
        var text = self.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
