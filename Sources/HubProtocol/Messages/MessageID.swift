import Formats

/// The id of a message, the last segment of its `Location`.
package struct MessageID: TextIdentifier, Hashable {
    /// Longest id read from another hub, in characters; the service's own scheduled ids exceed 100 (protocol §5.5).
    package static let maximumLength = 256

    package let text: String

    /// Accepts any text that needs no escaping in a URL, since each hub makes ids in its own way (protocol §5.1).
    ///
    /// - Throws: ``ProtocolError`` 400.
    package init(_ text: String) throws(ProtocolError) {
        guard !text.isEmpty, text.utf8.count <= Self.maximumLength,
            text.hasOnlyLettersAndDigits(or: "-_.~")
        else { throw .badRequest("'\(text.excerpt)' is not a message id") }
        self.text = text
    }

    /// A new id: 128 random bits in 32 hexadecimal digits.
    package static func random() -> MessageID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    package static func random(using generator: inout some RandomNumberGenerator) -> MessageID {
        MessageID(unchecked: Hexadecimal.encode(RandomBytes.make(count: 16, using: &generator)))
    }

    private init(unchecked text: String) { self.text = text }
}
