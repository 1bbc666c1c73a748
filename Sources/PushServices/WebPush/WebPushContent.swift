import Crypto
import Foundation

/// The encrypted body of a message to one browser: a single record of `aes128gcm`.
///
/// Source: RFC 8188 §2, RFC 8291 §4.
enum WebPushContent {
    /// Bytes of a body that every push service has to accept (RFC 8030 §7.2).
    private static let maximumBody = 4_096
    /// Bytes; written into the header, and larger than any record here.
    private static let recordSize = 4_096
    private static let saltBytes = 16
    private static let tagBytes = 16
    /// Salt, record size, length of the key id, key id.
    static let headerBytes = saltBytes + 4 + 1 + BrowserReceiver.keyBytes
    /// Ends the last record (RFC 8188 §2).
    private static let delimiter: UInt8 = 0x02

    /// Bytes of the longest message: the header, the delimiter and the tag are added to it.
    static let maximumPlaintext = maximumBody - headerBytes - 1 - tagBytes

    /// Encrypts a message with a key pair and a salt that are used for no other.
    ///
    /// Tests give their own `sender` and `salt`; both are new for each message otherwise. Returns the whole body of a
    /// request.
    static func encrypt(
        _ plaintext: [UInt8],
        for receiver: BrowserReceiver,
        sender: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        salt: [UInt8] = randomSalt()
    ) throws -> [UInt8] {
        let keys = try WebPushKeySchedule(sender, receiver, salt: salt)
        let sealed = try AES.GCM.seal(
            plaintext + [delimiter],
            using: keys.contentKey,
            nonce: try AES.GCM.Nonce(data: keys.nonce.withUnsafeBytes { Data($0) })
        )
        return header(sender.publicKey, salt: salt) + Array(sealed.ciphertext) + Array(sealed.tag)
    }

    private static func header(_ sender: P256.KeyAgreement.PublicKey, salt: [UInt8]) -> [UInt8] {
        let size = withUnsafeBytes(of: UInt32(recordSize).bigEndian) { Array($0) }
        return salt + size + [UInt8(BrowserReceiver.keyBytes)] + Array(sender.x963Representation)
    }

    private static func randomSalt() -> [UInt8] {
        SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
    }
}
