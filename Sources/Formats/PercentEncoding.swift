/// Percent-encoding over UTF-8, with the unreserved set of RFC 3986 §2.3.
package enum PercentEncoding {
    /// Escapes all but `A–Z a–z 0–9 - _ . ~` and the bytes of `kept`, with lower- or upper-case hexadecimal digits.
    package static func encode(
        _ text: some StringProtocol,
        uppercase: Bool = true,
        keeping kept: String = ""
    ) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 2)
        append(text.utf8, to: &bytes, uppercase: uppercase)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ text: some Sequence<UInt8>, to bytes: inout [UInt8], uppercase: Bool = true) {
        for byte in text {
            if isUnreserved(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Hexadecimal.digit(byte >> 4, uppercase: uppercase))
                bytes.append(Hexadecimal.digit(byte & 0xF, uppercase: uppercase))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Resolves escapes once; a literal `+` is kept.
    ///
    /// - Returns: `nil` if an escape is cut or the result is not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(Hexadecimal.value), let low = rest.next().flatMap(Hexadecimal.value)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte)
    }
}
