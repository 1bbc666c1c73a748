import Crypto
import Foundation

/// Encrypts a user's token with the secret in the browser's cookie.
///
/// The store has only a hash of the secret, so a copy of the store is not enough to sign in.
///
/// Source: RFC 5869 (HKDF), NIST SP 800-38D (GCM).
enum TokenSeal {
    private static let purpose = Data("newswire page token".utf8)
    private static let keyBytes = 32

    static func seal(_ token: String, with secret: SessionSecret) throws -> Data {
        let box = try AES.GCM.seal(Data(token.utf8), using: key(secret), authenticating: Data(secret.name.utf8))
        // Present for every nonce of the standard length, which this one has.
        return box.combined ?? Data()
    }

    /// - Returns: `nil` for data that was encrypted with another secret.
    static func open(_ sealed: Data, with secret: SessionSecret) -> String? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let opened = try? AES.GCM.open(box, using: key(secret), authenticating: Data(secret.name.utf8))
        else { return nil }
        return String(decoding: opened, as: UTF8.self)
    }

    private static func key(_ secret: SessionSecret) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(secret.secret.utf8)),
            salt: Data(secret.name.utf8),
            info: purpose,
            outputByteCount: keyBytes
        )
    }
}
