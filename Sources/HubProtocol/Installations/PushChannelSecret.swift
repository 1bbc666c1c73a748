import Crypto
import Formats

/// The secret by which an agent proves that a `stream` installation is its own (protocol §11.1).
///
/// It is made on the device and sent in the installation's `pushChannel` and the header `Newswire-Push-Channel`; the
/// hub stores only its digest. 256 random bits need no slow hash.
package struct PushChannelSecret: Sendable, Equatable {
    /// 32 bytes in unpadded base64url.
    package static let length = 43

    /// Never log it.
    package let text: String

    /// - Throws: ``ProtocolError`` 400 unless the text is 43 characters of base64url; it is not quoted.
    package init(_ text: String) throws(ProtocolError) {
        guard text.utf8.count == Self.length, text.hasOnlyLettersAndDigits(or: "-_") else {
            throw .badRequest("a push channel of platform 'stream' must be \(Self.length) of A-Z a-z 0-9 - _")
        }
        self.text = text
    }

    package static func random() -> PushChannelSecret {
        PushChannelSecret(unchecked: Base64URL.encode(RandomBytes.make(count: 32)))
    }

    /// SHA-256 of the text, 32 bytes.
    package var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }

    /// Compares in constant time.
    package func matches(digest other: [UInt8]) -> Bool { ConstantTime.equal(digest, other) }

    private init(unchecked text: String) { self.text = text }
}
