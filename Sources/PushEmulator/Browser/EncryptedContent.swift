import Crypto
import Foundation
import HubProtocol

/// An encrypted message to a browser: one record of `aes128gcm`, whose key id is the sender's public key.
///
/// Source: RFC 8188 §2, RFC 8291 §4.
struct EncryptedContent: Sendable {
    private static let saltBytes = 16
    private static let keyBytes = 65
    private static let tagBytes = 16
    /// Bytes of salt, record size, length of the key id, and key id.
    private static let headerBytes = saltBytes + 4 + 1 + keyBytes

    private let salt: [UInt8]
    private let senderKey: [UInt8]
    private let record: [UInt8]

    /// - Returns: `nil` unless the header is complete, the key is a point of the curve, and the rest is one record.
    init?(_ body: [UInt8]) {
        // The record has at least a delimiter and a tag.
        guard body.count > Self.headerBytes + Self.tagBytes, body[20] == UInt8(Self.keyBytes) else { return nil }
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        salt = Array(body[..<Self.saltBytes])
        senderKey = Array(body[21..<Self.headerBytes])
        record = Array(body[Self.headerBytes...])
        guard recordSize >= 18, record.count <= recordSize,
            (try? P256.KeyAgreement.PublicKey(x963Representation: senderKey)) != nil
        else { return nil }
    }

    /// Returns the message; `nil` if it was not encrypted for this subscription or its padding is invalid.
    func decrypted(for subscription: BrowserSubscription) -> [UInt8]? {
        guard let sender = try? P256.KeyAgreement.PublicKey(x963Representation: senderKey),
            let shared = try? subscription.privateKey.sharedSecretFromKeyAgreement(with: sender)
        else { return nil }
        let keyInfo =
            Array("WebPush: info\0".utf8) + Array(subscription.privateKey.publicKey.x963Representation)
            + senderKey
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: subscription.secret,
            sharedInfo: keyInfo,
            outputByteCount: 32
        )
        let key = derive(input, "Content-Encoding: aes128gcm\0", bytes: 16)
        let nonce = derive(input, "Content-Encoding: nonce\0", bytes: 12).withUnsafeBytes { Data($0) }
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce,
                ciphertext: record.dropLast(Self.tagBytes),
                tag: record.suffix(Self.tagBytes)
            ),
            let padded = try? AES.GCM.open(box, using: key)
        else { return nil }
        // The last record ends with its delimiter and zeros.
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2 else { return nil }
        return Array(padded[..<end])
    }

    private func derive(_ input: SymmetricKey, _ info: String, bytes: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: input, salt: salt, info: Data(info.utf8), outputByteCount: bytes)
    }
}
