package import Crypto
package import CryptoExtras
package import Formats
import Foundation
import HubProtocol

/// A public key that checks signatures of tokens.
package enum VerificationKey: Sendable {
    case rsa(_RSA.Signing.PublicKey)
    case p256(P256.Signing.PublicKey)
    case p384(P384.Signing.PublicKey)
    case ed25519(Curve25519.Signing.PublicKey)

    /// Bits of the shortest accepted RSA key (RFC 7518 §3.3).
    private static let minimumBits = 2_048

    /// Reads a JSON Web Key; fails for a key of another type, one that is not valid, and an RSA key of less than 2,048
    /// bits.
    ///
    /// - Parameter key: A member of `keys` in a JSON Web Key Set.
    ///
    /// Source: RFC 7517, RFC 7518 §6, RFC 8037 §2.
    package init?(_ key: JSONNode) {
        switch (key["kty"]?.string, key["crv"]?.string) {
        case ("RSA", _):
            guard let modulus = Self.bytes(key["n"]), let exponent = Self.bytes(key["e"]),
                let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent), key.keySizeInBits >= Self.minimumBits
            else { return nil }
            self = .rsa(key)
        case ("EC", "P-256"):
            guard let point = Self.point(key), let key = try? P256.Signing.PublicKey(x963Representation: point)
            else { return nil }
            self = .p256(key)
        case ("EC", "P-384"):
            guard let point = Self.point(key), let key = try? P384.Signing.PublicKey(x963Representation: point)
            else { return nil }
            self = .p384(key)
        case ("OKP", "Ed25519"):
            guard let bytes = Self.bytes(key["x"]),
                let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
            else { return nil }
            self = .ed25519(key)
        default: return nil
        }
    }

    /// The uncompressed point of an elliptic curve (SEC 1 §2.3.3).
    private static func point(_ key: JSONNode) -> [UInt8]? {
        guard let x = bytes(key["x"]), let y = bytes(key["y"]) else { return nil }
        return [4] + x + y
    }

    /// Also reads ordinary base64 and padding, which some providers write.
    private static func bytes(_ node: JSONNode?) -> [UInt8]? { node?.string.flatMap(Base64URL.decodeAny) }

    /// The algorithms that the key can be used with.
    package var algorithms: [SigningAlgorithm] {
        switch self {
        case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
        case .p256: [.es256]
        case .p384: [.es384]
        case .ed25519: [.edDSA]
        }
    }

    /// Checks a signature.
    ///
    /// - Returns: True if the signature is valid; false also for an algorithm that is not one of ``algorithms``.
    package func verify(_ signature: [UInt8], of bytes: [UInt8], _ algorithm: SigningAlgorithm) -> Bool {
        guard algorithms.contains(algorithm) else { return false }
        switch self {
        case .rsa(let key):
            let padding: _RSA.Signing.Padding =
                [.ps256, .ps384, .ps512].contains(algorithm) ? .PSS : .insecurePKCS1v1_5
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return switch algorithm {
            case .rs256, .ps256: key.isValidSignature(signature, for: SHA256.hash(data: bytes), padding: padding)
            case .rs384, .ps384: key.isValidSignature(signature, for: SHA384.hash(data: bytes), padding: padding)
            default: key.isValidSignature(signature, for: SHA512.hash(data: bytes), padding: padding)
            }
        case .p256(let key):
            return (try? P256.Signing.ECDSASignature(rawRepresentation: signature))
                .map { key.isValidSignature($0, for: bytes) } ?? false
        case .p384(let key):
            return (try? P384.Signing.ECDSASignature(rawRepresentation: signature))
                .map { key.isValidSignature($0, for: bytes) } ?? false
        case .ed25519(let key): return key.isValidSignature(signature, for: bytes)
        }
    }
}
