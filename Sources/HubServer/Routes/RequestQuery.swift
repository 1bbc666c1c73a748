import HubProtocol

/// The query of a request; clients write names in any case, and some percent-encode them (protocol document §0.4).
struct RequestQuery: Sendable {
    private let raw: Substring

    /// - Parameter text: Without the question mark.
    init(_ text: String?) {
        raw = text.map { $0[...] } ?? ""
    }

    /// The query as received, empty without one, to be repeated in addresses of the reply.
    var text: String { AddressText.escaped(raw) }

    /// The first value of a name; `""` for a name without a value, `nil` without the name.
    ///
    /// Values are decoded as in forms, so `+` is a space. A value that is not valid percent-encoding is returned
    /// unchanged.
    subscript(_ name: String) -> String? {
        parameters(called: name).first { _ in true }.map(Self.decoded)
    }

    /// The first value of a name with each `+` unchanged: in a push handle it is not a space.
    func literal(_ name: String) -> String? {
        parameters(called: name).first { _ in true }.map { value in
            let raw = String(decoding: value, as: UTF8.self)
            return PercentEncoding.decode(raw) ?? raw
        }
    }

    /// True if the query contains a name, with or without a value.
    func contains(_ name: String) -> Bool { self[name] != nil }

    private func parameters(called name: String) -> some Sequence<Substring.UTF8View> {
        raw.utf8.split(separator: UInt8(ascii: "&")).lazy.compactMap { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = parts.first, Self.decoded(key).isEqualIgnoringCase(name) else { return nil }
            return parts.count == 2 ? parts[1] : pair.dropFirst(pair.count)
        }
    }

    private static func decoded(_ bytes: Substring.UTF8View) -> String {
        let raw = String(decoding: bytes, as: UTF8.self)
        guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else { return raw }
        return PercentEncoding.decode(raw.replacing("+", with: " ")) ?? raw
    }
}

extension String {
    fileprivate func isEqualIgnoringCase(_ other: String) -> Bool {
        utf8.count == other.utf8.count && lowercased() == other.lowercased()
    }
}

/// Text from a request that is repeated in addresses of the reply.
enum AddressText {
    /// Escapes characters that an address must not contain, and leaves the others as received: clients compare.
    ///
    /// Source: RFC 3986 §3.3, §3.4.
    static func escaped(_ text: some StringProtocol) -> String {
        guard !text.utf8.allSatisfy(isAllowed) else { return String(text) }
        return text.utf8.reduce(into: "") { escaped, byte in
            if isAllowed(byte) {
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~:/?@!$&'()*+,;=%".utf8.contains(byte)
        }
    }
}
