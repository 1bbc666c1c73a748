internal import Formats
internal import HubProtocol
internal import NetworkAddresses

/// The conversion of a text to a value of a setting, and back.
package struct SettingFormat<Value: Sendable>: Sendable {
    let type: String
    var range: String?
    var nature = SettingNature.plain
    /// The possible values, if there are few.
    var choices: [String] = []
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

    /// Creates a format from `read`, which returns `nil` for an invalid text; `reason` says what a text must be.
    init(
        _ type: String,
        range: String? = nil,
        nature: SettingNature = .plain,
        show: @escaping @Sendable (Value) -> String,
        otherwise reason: String,
        read: @escaping @Sendable (String) -> Value?
    ) {
        self.init(type, range: range, nature: nature, show: show) { text throws(SettingValueError) in
            guard let value = read(text) else { throw SettingValueError(reason) }
            return value
        }
    }
}

/// The reason why a text is not a value of its setting, as the end of a sentence: "must be …".
package struct SettingValueError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

extension SettingFormat<String> {
    /// Any text on one line.
    static let text = SettingFormat("text", show: { $0 }, parse: Self.singleLine)
    static let path = SettingFormat("path", nature: .path, show: { $0 }, parse: Self.singleLine)
    static let program = SettingFormat("program", nature: .program, show: { $0 }, parse: Self.singleLine)

    /// The path of a file with a connection string.
    static let secretFile = SettingFormat("path", nature: .secretFile, show: { $0 }) {
        text throws(SettingValueError) in
        // A user may have put the string itself here: it must not appear in a log.
        guard !text.contains("SharedAccessKey") else {
            throw SettingValueError(
                "must be the path of a file with the connection string, not the string itself"
            )
        }
        return try Self.singleLine(text)
    }

    /// The path of a file with a private key.
    static let keyFile = SettingFormat("path", nature: .secretFile, show: { $0 }) { text throws(SettingValueError) in
        guard !text.contains("PRIVATE KEY") else {
            throw SettingValueError("must be the path of a file with the key, not the key itself")
        }
        return try Self.singleLine(text)
    }

    static let address = SettingFormat(
        "address",
        show: { $0 },
        otherwise: "must be an address or a name of this machine, such as 127.0.0.1"
    ) { text in
        // An IPv6 address also in brackets, as in URLs.
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]") && text.contains(":")
        let address = isBracketed ? String(text.dropFirst().dropLast()) : text
        let isValid = !address.isEmpty && address.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"/[]".utf8.contains($0) }
        return isValid ? address : nil
    }

    static let hubName = SettingFormat("hub name", show: { $0 }) { text throws(SettingValueError) in
        do throws(ProtocolError) {
            return try HubName(text).text
        } catch {
            throw SettingValueError("'\(text)' cannot be used: \(error.detail)")
        }
    }

    /// Text that is allowed in the comment of a `User-Agent` field and in one segment of a path.
    static let contact = matching(
        "URL or e-mail address",
        range: "up to 200 bytes",
        otherwise: "must be a URL or an e-mail address of ASCII without spaces and parentheses"
    ) { text in
        (1...200).contains(text.utf8.count) && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"()\\".utf8.contains($0) }
    }

    /// The contact address for push services, as they accept it.
    static let pushContact = SettingFormat(
        "URL or e-mail address",
        range: "at a public host",
        show: { $0 }
    ) { text throws(SettingValueError) in
        do throws(SenderContact.Problem) {
            return try SenderContact(text).uri
        } catch {
            throw SettingValueError("'\(text)' cannot be used: \(error.reason)")
        }
    }

    /// A name under which a publisher announces its categories.
    static let publisherName = matching(
        "name",
        range: "up to 64 letters, digits, '.', '_', '-'",
        otherwise: "must be 1 to 64 letters, digits, '.', '_' or '-'"
    ) { text in
        text.hasOnlyLettersAndDigits(or: "._-") && (1...64).contains(text.utf8.count) && text != "." && text != ".."
    }

    /// A name that is one word of a subject, and part of a stream's name.
    static let nodeName = matching(
        "name",
        range: "up to 32 letters, digits, '_', '-'",
        otherwise: "must be 1 to 32 letters, digits, '_' or '-'"
    ) { text in
        text.hasOnlyLettersAndDigits(or: "_-") && (1...32).contains(text.utf8.count)
    }

    static let webSubHub = SettingFormat(
        "web address",
        show: { $0 },
        otherwise: "must be a web address such as https://hub.example.org/"
    ) { WebLink($0)?.text }

    private static func matching(
        _ type: String,
        range: String? = nil,
        otherwise reason: String,
        _ isFit: @escaping @Sendable (String) -> Bool
    ) -> SettingFormat {
        SettingFormat(type, range: range, show: { $0 }, otherwise: reason) { isFit($0) ? $0 : nil }
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
    static let flag = SettingFormat("true or false", show: { "\($0)" }, otherwise: "must be true or false") { Bool($0) }
}

extension SettingFormat where Value: Comparable {
    /// Values within a range; `example` is shown for an invalid text.
    fileprivate static func bounded(
        _ type: String,
        _ range: ClosedRange<Value>,
        example: String? = nil,
        show: @escaping @Sendable (Value) -> String,
        read: @escaping @Sendable (String) -> Value?
    ) -> SettingFormat {
        let bounds = "\(show(range.lowerBound)) to \(show(range.upperBound))"
        return SettingFormat(type, range: bounds, show: show) { text throws(SettingValueError) in
            let value = read(text)
            if value == nil, let example { throw SettingValueError("must be a \(type) such as \(example)") }
            guard let value, range.contains(value) else { throw SettingValueError("must be \(bounds)") }
            return value
        }
    }
}

extension SettingFormat<Int> {
    static func wholeNumber(_ range: ClosedRange<Int>) -> SettingFormat {
        bounded("whole number", range, show: { "\($0)" }, read: { Int($0) })
    }
}

extension SettingFormat<Int64> {
    /// Bytes, with a unit.
    static func size(_ range: ClosedRange<Int64>) -> SettingFormat {
        bounded("size", range, example: "512MiB or 1GiB", show: SettingUnits.size, read: { SettingUnits.size($0) })
    }
}

extension SettingFormat<Duration> {
    static func time(_ range: ClosedRange<Duration>) -> SettingFormat {
        let example = "30s, 5m, 72h or 7d"
        return bounded("time", range, example: example, show: SettingUnits.time, read: { SettingUnits.time($0) })
    }
}

extension SettingFormat<ReservedTagPrefixes> {
    static let tagPrefixes = SettingFormat(
        "list of tag prefixes",
        nature: .list,
        show: { $0.prefixes.joined(separator: ",") }
    ) { text throws(SettingValueError) in
        let words = text.split(separator: ",").map { $0.trimmed() }
        do throws(ProtocolError) {
            return try ReservedTagPrefixes(words)
        } catch {
            throw SettingValueError("must be tag prefixes: \(error.detail)")
        }
    }
}

extension SettingFormat {
    /// At least one word, with commas between them; `reason` says what words must be, for one that is not valid.
    fileprivate static func list<Word: CustomStringConvertible>(
        _ type: String,
        _ read: @escaping @Sendable (String) -> Word?,
        otherwise reason: @escaping @Sendable (String) -> String
    ) -> SettingFormat where Value == [Word] {
        SettingFormat(type, nature: .list, show: { $0.map(\.description).joined(separator: ",") }) {
            text throws(SettingValueError) in
            var words: [Word] = []
            for word in text.split(separator: ",", omittingEmptySubsequences: false).map({ $0.trimmed() }) {
                guard let value = read(word) else { throw SettingValueError(reason(word)) }
                words.append(value)
            }
            return words
        }
    }
}

extension SettingFormat<[HostName]> {
    static let hostNames = list("list of names and addresses", { HostName($0) }) {
        "must be names and addresses such as hub.example.org, without ports and '*'; '\($0)' is not a host name or address"
    }
}

extension SettingFormat<[WebOrigin]> {
    static let origins = list("list of origins", { WebOrigin($0) }) {
        "must be exact origins such as https://app.example.org, without '*', path and standard port; '\($0)' is not one of them"
    }
}

extension SettingFormat<[AddressBlock]> {
    static let addressBlocks = list("list of addresses and blocks", { AddressBlock($0) }) {
        "must be addresses and blocks such as 10.0.0.0/8; '\($0)' is not one of them"
    }
}

extension SettingFormat<[LogServer]> {
    private static let addresses = list("list of server addresses", { LogServer($0) }) {
        "must be addresses such as tls://log1.example.org:4222; '\($0)' is not one of them"
    }

    static let logServers = SettingFormat(addresses.type, nature: addresses.nature, show: addresses.show) {
        text throws(SettingValueError) in
        // Of the whole text: a password may contain commas, and must not be in an error.
        guard !text.contains("@") else {
            throw SettingValueError("must not contain user names and passwords: name a file with 'log-credentials'")
        }
        return try addresses.parse(text)
    }
}

extension SettingFormat<CategoryCap> {
    static let cap = SettingFormat(
        "whole number or none",
        range: "1 to 1000",
        show: { "\($0)" },
        otherwise: "must be 1 to 1000, or none"
    ) { text in
        if text == "none" { return CategoryCap.none }
        return Int(text).flatMap { (1...1_000).contains($0) ? .atMost($0) : nil }
    }
}

extension SettingFormat where Value: RawRepresentable, Value: CaseIterable, Value.RawValue == String {
    static var word: SettingFormat {
        let choices = Value.allCases.map(\.rawValue)
        let words = choices.joined(separator: ", ")
        var format = SettingFormat("word", range: words, show: \.rawValue, otherwise: "must be one of \(words)") {
            Value(rawValue: $0)
        }
        format.choices = choices
        return format
    }
}

extension Substring {
    func trimmed() -> String { String(trimming { $0 == " " }) }
}
