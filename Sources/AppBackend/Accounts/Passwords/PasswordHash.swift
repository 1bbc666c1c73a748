import Crypto
import CryptoExtras
import Foundation
import HubProtocol

/// The cost parameters of scrypt.
package struct ScryptParameters: Sendable, Equatable {
    /// The parameter N, a power of two.
    package let rounds: Int
    /// The parameter r.
    package let blockSize: Int
    /// The parameter p.
    package let parallelism: Int

    /// The recommended cost: 32 MiB and a third of a second of one core.
    ///
    /// OWASP lists several settings of equal strength. The one with N = 2¹⁷ needs 128 MiB, which small servers lack,
    /// and takes half as long again.
    ///
    /// Source: OWASP Password Storage Cheat Sheet, scrypt (2025).
    package static let recommended = ScryptParameters(rounds: 1 << 15, blockSize: 8, parallelism: 3)
}

/// A stored password: the output of scrypt with its salt and parameters.
package struct PasswordHash: Sendable, Equatable {
    /// Derives a key from a password; blocks for as long as the parameters require.
    package typealias Derivation =
        @Sendable (_ password: [UInt8], _ salt: [UInt8], ScryptParameters) throws -> [UInt8]

    static let saltBytes = 16
    static let keyBytes = 32

    let parameters: ScryptParameters
    let salt: [UInt8]
    let key: [UInt8]

    /// Compares keys in constant time.
    func hasKey(_ other: [UInt8]) -> Bool { SymmetricKey(data: key) == SymmetricKey(data: other) }

    static func randomSalt() -> [UInt8] { RandomBytes.make(count: saltBytes) }

    /// The scrypt function of RFC 7914.
    package static let scrypt: Derivation = { password, salt, parameters in
        let key = try KDF.Scrypt.deriveKey(
            from: password,
            salt: salt,
            outputByteCount: keyBytes,
            rounds: parameters.rounds,
            blockSize: parameters.blockSize,
            parallelism: parameters.parallelism
        )
        return key.withUnsafeBytes { Array($0) }
    }
}
