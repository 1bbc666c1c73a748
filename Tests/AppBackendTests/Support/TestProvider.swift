import Crypto
import CryptoExtras
import Formats
import Foundation
import HubProtocol
import HubTestServer
import Synchronization

@testable import AppBackend

/// An OpenID Connect provider: its keys, and the tokens that it, or somebody else, signs.
enum TestProvider {
    static let issuer = "https://login.example.org/realms/news"
    static let audience = "news-app"

    /// How a token is signed.
    enum Signer: Sendable {
        case rsa(bits: Int, pss: Bool)
        case p256, p384, ed25519
        /// A key that is not the provider's.
        case otherP256
        /// HMAC with a secret, which a naive reader of tokens takes from the public key.
        case secret([UInt8])
        case nothing

        func sign(_ bytes: [UInt8]) throws -> [UInt8] {
            switch self {
            case .rsa(let bits, let pss):
                let key = try TestProvider.rsa.get()
                let padding: _RSA.Signing.Padding = pss ? .PSS : .insecurePKCS1v1_5
                return switch bits {
                case 256: Array(try key.signature(for: SHA256.hash(data: bytes), padding: padding).rawRepresentation)
                case 384: Array(try key.signature(for: SHA384.hash(data: bytes), padding: padding).rawRepresentation)
                default: Array(try key.signature(for: SHA512.hash(data: bytes), padding: padding).rawRepresentation)
                }
            case .p256: return Array(try TestProvider.p256.signature(for: bytes).rawRepresentation)
            case .p384: return Array(try TestProvider.p384.signature(for: bytes).rawRepresentation)
            case .ed25519: return Array(try TestProvider.ed25519.signature(for: bytes))
            case .otherP256: return Array(try P256.Signing.PrivateKey().signature(for: bytes).rawRepresentation)
            case .secret(let secret):
                return Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: secret)))
            case .nothing: return []
            }
        }
    }

    private static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }
    private static let p256 = P256.Signing.PrivateKey()
    private static let p384 = P384.Signing.PrivateKey()
    private static let ed25519 = Curve25519.Signing.PrivateKey()

    // MARK: Keys

    /// A public key of RSA in JSON, with further members.
    static func rsaKey(_ id: String, _ more: String = "") throws -> String {
        let numbers = try rsa.get().publicKey.getKeyPrimitives()
        let (n, e) = (Base64URL.encode(Array(numbers.modulus)), Base64URL.encode(Array(numbers.publicExponent)))
        return #"{"kty":"RSA","kid":"\#(id)","n":"\#(n)","e":"\#(e)"\#(more)}"#
    }

    /// The same for ES256.
    static func p256Key(_ id: String?, _ more: String = "") -> String {
        let kid = id.map { #""kid":"\#($0)","# } ?? ""
        return #"{"kty":"EC","crv":"P-256",\#(kid)\#(point(p256.publicKey.x963Representation))\#(more)}"#
    }

    static func p384Key(_ id: String) -> String {
        #"{"kty":"EC","crv":"P-384","kid":"\#(id)",\#(point(p384.publicKey.x963Representation))}"#
    }

    static func ed25519Key(_ id: String) -> String {
        let x = Base64URL.encode(Array(ed25519.publicKey.rawRepresentation))
        return #"{"kty":"OKP","crv":"Ed25519","kid":"\#(id)","x":"\#(x)"}"#
    }

    private static func point(_ bytes: Data) -> String {
        // 0x04, x, y
        let (x, y) = (bytes.dropFirst().prefix((bytes.count - 1) / 2), bytes.suffix((bytes.count - 1) / 2))
        return #""x":"\#(Base64URL.encode(Array(x)))","y":"\#(Base64URL.encode(Array(y)))""#
    }

    static func keySet(_ keys: [String]) -> String { #"{"keys":[\#(keys.joined(separator: ","))]}"# }

    /// The keys `r`, `e`, `e3` and `d`, one of each type, and others that serve for nothing here.
    static func keySet() throws -> String {
        keySet([
            #"{"kty":"oct","kid":"shared","k":"c2VjcmV0","alg":"HS256"}"#,
            #"{"kty":"EC","crv":"secp256k1","kid":"coin","x":"AA","y":"AA"}"#, #"{"kty":"new","kid":"new"}"#,
            try rsaKey("r"), try rsaKey("r256", #","alg":"RS256","use":"sig","key_ops":["verify"]"#),
            try rsaKey("enc", #","use":"enc""#), try rsaKey("wrap", #","key_ops":["encrypt"]"#),
            p256Key("e"), p384Key("e3"), ed25519Key("d"),
        ])
    }

    // MARK: Tokens

    /// Claims in JSON that are valid at a time, with changes; `nil` leaves one out.
    static func claims(at now: Timestamp, _ changes: [String: String?] = [:]) -> String {
        let seconds = now.milliseconds / 1_000
        var claims: [String: String] = [
            "iss": JSONText(issuer).text, "sub": #""1001""#, "aud": JSONText(audience).text,
            "exp": "\(seconds + 300)", "iat": "\(seconds)",
        ]
        for (name, value) in changes { claims[name] = value }
        return "{\(claims.sorted { $0.key < $1.key }.map { "\(JSONText($0.key)):\($0.value)" }.joined(separator: ","))}"
    }

    static func token(header: String = #"{"alg":"ES256","kid":"e"}"#, _ claims: String, _ signer: Signer = .p256) throws
        -> String
    {
        let signed = [header, claims].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        return "\(signed).\(Base64URL.encode(try signer.sign(Array(signed.utf8))))"
    }

    /// A provider whose keys are in a file.
    static func configuration(keys path: String) throws -> OpenIDConfiguration {
        guard let suffix = NameSuffix("corp") else { throw TestHub.NotStarted() }
        return OpenIDConfiguration(issuer: issuer, audience: audience, keys: .file(path), suffix: suffix)
    }
}
