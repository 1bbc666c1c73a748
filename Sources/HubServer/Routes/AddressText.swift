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
