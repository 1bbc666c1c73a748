import Crypto
import CryptoExtras
import Foundation
import HubProtocol

/// Signed tokens in their compact form (RFC 7515 §7.1).
enum JSONWebToken {
    /// ECDSA with P-256 and SHA-256 (RFC 7518 §3.4): the signature is the two numbers, without ASN.1.
    static func es256(
        header: [(name: String, value: String)],
        claims: [(name: String, value: String)],
        key: P256.Signing.PrivateKey
    ) throws -> String {
        let text = signingInput([("alg", JSONText.string("ES256"))] + header, claims)
        return text + "." + Base64URL.encode([UInt8](try key.signature(for: Data(text.utf8)).rawRepresentation))
    }

    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    static func rs256(
        header: [(name: String, value: String)],
        claims: [(name: String, value: String)],
        key: _RSA.Signing.PrivateKey
    ) throws -> String {
        let text = signingInput([("alg", JSONText.string("RS256"))] + header, claims)
        let signature = try key.signature(for: Data(text.utf8), padding: .insecurePKCS1v1_5)
        return text + "." + Base64URL.encode([UInt8](signature.rawRepresentation))
    }

    /// Values are JSON.
    private static func signingInput(
        _ header: [(name: String, value: String)],
        _ claims: [(name: String, value: String)]
    ) -> String {
        [header, claims].map { Base64URL.encode(Array(JSONText.object($0).utf8)) }.joined(separator: ".")
    }
}

/// Private keys as people have them.
enum PrivateKeyText {
    /// The PEM of a key that is in PEM, or its base64 alone, which is what management APIs have in the place of a file.
    static func pem(_ text: String, kind: String = "PRIVATE KEY") -> String {
        // A key file's line breaks come as two characters if it was copied out of JSON.
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
