package import Crypto
package import CryptoExtras
package import Formats
import Foundation
import HubProtocol

/// The reason why a text is not a token that can be checked; for logs only, never for the client.
package enum SignedTokenError: Error, Sendable, Equatable {
    case malformed(String)
    /// The algorithm is missing or not one of those that are accepted.
    case algorithm
}

/// A JSON Web Token in its compact form.
///
/// Source: RFC 7515 §3.1, §7.1, RFC 7519, RFC 8725 (best practices).
package struct SignedToken: Sendable {
    package static let maximumBytes = 8_192

    package let algorithm: SigningAlgorithm
    /// The `kid` member; `nil` without one.
    package let keyID: String?
    package let claims: JSONNode
    /// The signed bytes.
    package let signed: [UInt8]
    package let signature: [UInt8]

    /// Reads a token; its signature and claims are not checked.
    ///
    /// - Parameters:
    ///   - text: The three parts.
    ///   - algorithms: Accepted values of `alg`.
    ///   - types: Accepted values of `typ` in lower case, if there is one; `nil` for all.
    /// - Throws: ``SignedTokenError`` for the first flaw of form, header or payload.
    package init(
        _ text: some StringProtocol,
        algorithms: Set<SigningAlgorithm>,
        types: Set<String>? = nil
    ) throws(SignedTokenError) {
        guard text.utf8.count <= Self.maximumBytes else { throw .malformed("larger than \(Self.maximumBytes) bytes") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 3 else { throw .malformed("not three parts") }
        let header = try Self.object(parts[0], "header")
        // No extension is supported (RFC 7515 §4.1.11).
        guard header["crit"] == nil else { throw .malformed("it has 'crit'") }
        if let types, let type = header["typ"] {
            guard let name = type.string?.lowercased(), types.contains(name) else { throw .malformed("its 'typ'") }
        }
        guard let algorithm = header["alg"]?.string.flatMap(SigningAlgorithm.init), algorithms.contains(algorithm)
        else { throw .algorithm }
        self.algorithm = algorithm
        keyID = header["kid"]?.string
        guard keyID != nil || header["kid"] == nil else { throw .malformed("its 'kid'") }
        claims = try Self.object(parts[1], "payload")
        guard let signature = Base64URL.decode(parts[2]), !signature.isEmpty else { throw .malformed("no signature") }
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: String, _ name: String) throws(SignedTokenError) -> JSONNode {
        // Repeated names are refused: two readers could use different values.
        guard let bytes = Base64URL.decode(part), let node = try? JSONReader.read(bytes), node.members != nil
        else { throw .malformed("its \(name) is not an object") }
        return node
    }

    /// Checks the signature, and nothing else: the claims are the caller's to check.
    ///
    /// - Parameter key: The key that the token's issuer has published.
    /// - Returns: True if the signature was made with the key's private part and the token's algorithm.
    package func isSigned(by key: VerificationKey) -> Bool { key.verify(signature, of: signed, algorithm) }
}

// MARK: - Signing

extension SignedToken {
    /// Signs with ECDSA, P-256 and SHA-256 (RFC 7518 §3.4): the signature is the two numbers, without ASN.1.
    ///
    /// - Parameters:
    ///   - header: Further members of the header, without `alg`.
    ///   - claims: The payload, an object.
    ///   - key: The private key.
    /// - Returns: The token in its compact form.
    /// - Throws: Errors of the cryptography library.
    package static func es256(
        header: JSONText.Members,
        claims: JSONText,
        key: P256.Signing.PrivateKey
    ) throws -> String {
        try sign(.es256, header, claims) { try key.signature(for: $0).rawRepresentation }
    }

    /// Signs with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 7518 §3.3).
    ///
    /// - Parameters:
    ///   - header: Further members of the header, without `alg`.
    ///   - claims: The payload, an object.
    ///   - key: The private key.
    /// - Returns: The token in its compact form.
    /// - Throws: Errors of the cryptography library.
    package static func rs256(
        header: JSONText.Members,
        claims: JSONText,
        key: _RSA.Signing.PrivateKey
    ) throws -> String {
        try sign(.rs256, header, claims) { try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation }
    }

    private static func sign(
        _ algorithm: SigningAlgorithm,
        _ header: JSONText.Members,
        _ claims: JSONText,
        _ signature: (Data) throws -> Data
    ) throws -> String {
        let header = JSONText(members: [("alg", JSONText(algorithm.rawValue))] + header)
        let text = [header, claims].map { Base64URL.encode($0.bytes) }.joined(separator: ".")
        return text + "." + Base64URL.encode(Array(try signature(Data(text.utf8))))
    }
}
