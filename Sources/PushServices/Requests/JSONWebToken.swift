import Crypto
import CryptoExtras
import Formats
import Foundation
import HubProtocol

/// Signed tokens in their compact form (RFC 7515 §7.1).
enum JSONWebToken {
    /// Signs with ECDSA, P-256 and SHA-256 (RFC 7518 §3.4): the signature is the two numbers, without ASN.1.
    static func es256(
        header: [(name: String, value: String)],
        claims: [(name: String, value: String)],
        key: P256.Signing.PrivateKey
    ) throws -> String {
        let text = signingInput([("alg", JSONText.string("ES256"))] + header, claims)
        return text + "." + Base64URL.encode([UInt8](try key.signature(for: Data(text.utf8)).rawRepresentation))
    }

    /// Signs with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 7518 §3.3).
    static func rs256(
        header: [(name: String, value: String)],
        claims: [(name: String, value: String)],
        key: _RSA.Signing.PrivateKey
    ) throws -> String {
        let text = signingInput([("alg", JSONText.string("RS256"))] + header, claims)
        let signature = try key.signature(for: Data(text.utf8), padding: .insecurePKCS1v1_5)
        return text + "." + Base64URL.encode([UInt8](signature.rawRepresentation))
    }

    /// Returns the text to sign; the values are JSON.
    private static func signingInput(
        _ header: [(name: String, value: String)],
        _ claims: [(name: String, value: String)]
    ) -> String {
        [header, claims].map { Base64URL.encode(Array(JSONText.object($0).utf8)) }.joined(separator: ".")
    }
}

/// Private keys in the forms in which they are passed around.
enum PrivateKeyText {
    /// Returns a key as PEM; the text may also be only the base64 inside, as in management APIs.
    static func pem(_ text: String, kind: String = "PRIVATE KEY") -> String {
        // In a key copied out of JSON, line breaks are two characters.
        let text = text.replacing("\\n", with: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.contains("-----BEGIN") else { return text }
        let base64 = text.filter { !$0.isWhitespace }
        var lines = ["-----BEGIN \(kind)-----"]
        var rest = base64[...]
        while !rest.isEmpty {
            lines.append(String(rest.prefix(64)))
            rest = rest.dropFirst(64)
        }
        return (lines + ["-----END \(kind)-----", ""]).joined(separator: "\n")
    }
}
