import Crypto
import Foundation

/// The encrypted body of a message to one browser: a single record of `aes128gcm`.
///
/// Source: RFC 8188 §2, RFC 8291 §4.
enum WebPushContent {
    /// Bytes of a body that every push service has to accept (RFC 8030 §7.2).
    private static let maximumBody = 4_096
    /// Record size in the header, in bytes; larger than any record here.
    private static let recordSize = 4_096
    private static let saltBytes = 16
    private static let tagBytes = 16
    /// Bytes of salt, record size, length of the key id, and key id.
    static let headerBytes = saltBytes + 4 + 1 + BrowserReceiver.keyBytes
    /// Delimiter of the last record (RFC 8188 §2).
    private static let delimiter: UInt8 = 0x02

    /// Bytes of the longest message: the body also holds the header, the delimiter and the tag.
    static let maximumPlaintext = maximumBody - headerBytes - 1 - tagBytes

    /// Bytes to which a message and its delimiter are padded, so that the length tells a push service less about the
    /// content (RFC 8188 §4.8).
    ///
    /// Longer messages are not padded: bridges to Android devices carry less than 2.7 KiB, and Mozilla's refused
    /// messages that were padded to 3,052 bytes (web-push-php, issue 108). Larger padding would also cost data and
    /// battery.
    static let paddedSizes = [256, 512, 1_024, 2_048]

    /// Encrypts a message and returns the whole body of a request.
    ///
    /// Only tests pass `sender`, `salt` and `sizes`; key pair and salt must be new for each message.
    static func encrypt(
        _ plaintext: [UInt8],
        for receiver: BrowserReceiver,
        sender: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        salt: [UInt8] = randomSalt(),
        paddedTo sizes: [Int] = paddedSizes
    ) throws -> [UInt8] {
        let keys = try WebPushKeySchedule(sender, receiver, salt: salt)
        let sealed = try AES.GCM.seal(
            padded(plaintext + [delimiter], to: sizes),
            using: keys.contentKey,
            nonce: try AES.GCM.Nonce(data: keys.nonce.withUnsafeBytes { Data($0) })
        )
        return header(sender.publicKey, salt: salt) + Array(sealed.ciphertext) + Array(sealed.tag)
    }

    private static func padded(_ text: [UInt8], to sizes: [Int]) -> [UInt8] {
        let size = sizes.first { $0 >= text.count } ?? text.count
        return text + [UInt8](repeating: 0, count: size - text.count)
    }

    private static func header(_ sender: P256.KeyAgreement.PublicKey, salt: [UInt8]) -> [UInt8] {
        let size = withUnsafeBytes(of: UInt32(recordSize).bigEndian) { Array($0) }
        return salt + size + [UInt8(BrowserReceiver.keyBytes)] + Array(sender.x963Representation)
    }

    private static func randomSalt() -> [UInt8] {
        SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
    }
}
