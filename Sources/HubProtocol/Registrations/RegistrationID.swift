/// The id of a registration, the last segment of its address.
///
/// The service's ids consist of two positive 63-bit numbers and the small number of a partition. A client may also
/// write to an id of that form that it has made up (protocol §3.2).
package struct RegistrationID: TextIdentifier, Hashable {
    /// Longest id, in characters: two numbers of 19 digits, one of up to 10, and the dashes between them.
    package static let maximumLength = 50

    package let text: String

    /// - Throws: ``ProtocolError`` 400 for text that is not three numbers joined by dashes.
    package init(_ text: String) throws(ProtocolError) {
        guard text.utf8.count <= Self.maximumLength, Self.isValid(text.utf8)
        else {
            throw .badRequest(
                "'\(text.excerpt)' is not a registration id, such as '4497227228776861650-7267172778370643468-3'"
            )
        }
        self.text = text
    }

    package static func random() -> RegistrationID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    package static func random(using generator: inout some RandomNumberGenerator) -> RegistrationID {
        let numbers = (0..<2).map { _ in Int64.random(in: 1...Int64.max, using: &generator) }
        return RegistrationID(unchecked: "\(numbers[0])-\(numbers[1])-1")
    }

    private init(unchecked text: String) { self.text = text }

    private static func isValid(_ text: String.UTF8View) -> Bool {
        var (dashes, digits) = (0, 0)
        for byte in text {
            switch byte {
            case 0x30...0x39: digits += 1
            case UInt8(ascii: "-") where digits > 0: (dashes, digits) = (dashes + 1, 0)
            default: return false
            }
        }
        return dashes == 2 && digits > 0
    }
}
