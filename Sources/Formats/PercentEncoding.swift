/// Percent-encoding over UTF-8, with the unreserved set of RFC 3986 §2.3.
package enum PercentEncoding {
    /// Escapes all but certain bytes, with lower- or upper-case hexadecimal digits.
    package static func encode(
        _ text: some StringProtocol,
        uppercase: Bool = true,
        keeping isKept: (UInt8) -> Bool = isUnreserved
    ) -> String {
        let text = String(text)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count * 2)
        for byte in text.utf8 {
            if isKept(byte) {
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

    /// True for `A–Z a–z 0–9 - _ . ~`.
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-_.~".utf8.contains(byte)
    }
}
