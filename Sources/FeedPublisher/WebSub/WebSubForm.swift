internal import HubProtocol

/// Names and values in the encoding of forms and queries.
///
/// Source: WHATWG URL §5 (`application/x-www-form-urlencoded`).
struct WebSubForm: Sendable, Equatable {
    static let contentType = "application/x-www-form-urlencoded"

    private var pairs: [(name: String, value: String)] = []

    init(_ pairs: [(name: String, value: String)]) { self.pairs = pairs }

    /// Reads a query; the first value of each name counts.
    init(query: some StringProtocol) {
        pairs = query.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
    }

    subscript(_ name: String) -> String? { pairs.first { $0.name == name }?.value }

    var encoded: [UInt8] {
        let parts = pairs.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        return Array(parts.joined(separator: "&").utf8)
    }

    static func == (left: Self, right: Self) -> Bool { left.pairs.elementsEqual(right.pairs, by: ==) }

    private static func decoded(_ text: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
