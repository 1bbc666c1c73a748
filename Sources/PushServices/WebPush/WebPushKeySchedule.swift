import Crypto
import Foundation
import HubProtocol

/// The keys of a browser's subscription, for which messages are encrypted.
struct BrowserReceiver: Sendable {
    /// Bytes of the shared secret `auth`.
    private static let secretBytes = 16
    /// Bytes of an uncompressed P-256 point.
    static let keyBytes = 65

    let publicKey: P256.KeyAgreement.PublicKey
    let secret: [UInt8]

    struct BadKey: Error {
        let reason: String
    }

    /// - Throws: ``BadKey`` if no message can be encrypted for the keys.
    init(_ channel: BrowserPushChannel) throws(BadKey) {
        guard let key = Base64URL.decodeAny(channel.p256dh), key.count == Self.keyBytes, key[0] == 0x04,
            let publicKey = try? P256.KeyAgreement.PublicKey(x963Representation: key)
        else { throw BadKey(reason: "its 'p256dh' is not an uncompressed P-256 key") }
        guard let secret = Base64URL.decodeAny(channel.auth), secret.count == Self.secretBytes else {
            throw BadKey(reason: "its 'auth' does not have \(Self.secretBytes) bytes")
        }
        self.publicKey = publicKey
        self.secret = secret
    }
}

/// The keys of one message to one browser, with every intermediate step.
///
/// Source: RFC 8291 §3.3 and §3.4, RFC 8188 §2.2 and §2.3.
struct WebPushKeySchedule: Sendable {
    /// The result of the key agreement.
    let sharedSecret: SymmetricKey
    /// `PRK_key`.
    let authenticated: SymmetricKey
    let keyInfo: [UInt8]
    /// `IKM`.
    let input: SymmetricKey
    /// `PRK`.
    let salted: SymmetricKey
    /// `CEK`.
    let contentKey: SymmetricKey
    let nonce: SymmetricKey

    init(_ sender: P256.KeyAgreement.PrivateKey, _ receiver: BrowserReceiver, salt: [UInt8]) throws {
        sharedSecret = try sender.sharedSecretFromKeyAgreement(with: receiver.publicKey).withUnsafeBytes { bytes in
            SymmetricKey(data: Data(bytes))
        }
        authenticated = Self.extract(sharedSecret, salt: receiver.secret)
        // The receiver's key comes first.
        keyInfo =
            Array("WebPush: info\0".utf8) + Array(receiver.publicKey.x963Representation)
            + Array(sender.publicKey.x963Representation)
        input = Self.expand(authenticated, keyInfo, bytes: 32)
        salted = Self.extract(input, salt: salt)
        contentKey = Self.expand(salted, Array("Content-Encoding: aes128gcm\0".utf8), bytes: 16)
        nonce = Self.expand(salted, Array("Content-Encoding: nonce\0".utf8), bytes: 12)
    }

    private static func extract(_ key: SymmetricKey, salt: [UInt8]) -> SymmetricKey {
        SymmetricKey(data: Data(HKDF<SHA256>.extract(inputKeyMaterial: key, salt: salt)))
    }

    private static func expand(_ key: SymmetricKey, _ info: [UInt8], bytes: Int) -> SymmetricKey {
        HKDF<SHA256>.expand(pseudoRandomKey: key, info: info, outputByteCount: bytes)
    }
}
