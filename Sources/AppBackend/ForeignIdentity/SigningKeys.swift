import Formats
import HubProtocol
import JWTKit

/// The public keys of an identity provider: a JSON Web Key Set.
///
/// A key is used only for its `alg`, or without one for the algorithms of its type: a token must not choose how its
/// signature is checked. Encryption keys, shared secrets and keys of other types are skipped.
///
/// Source: RFC 7517, RFC 7518 §6, RFC 8037 §2.
struct SigningKeys: Sendable {
    /// The largest key set, in bytes.
    static let maximumBytes = 262_144
    /// The largest number of keys that are read.
    static let maximumKeys = 50

    private struct Slot: Hashable {
        /// The key's id; `nil` for a key without one.
        let keyID: String?
        let algorithm: SigningAlgorithm
    }

    private var keys: [Slot: any JWTAlgorithm] = [:]

    /// Reads a set.
    ///
    /// - Throws: ``SigningKeysProblem`` if it is not a key set, or has no usable key.
    init(_ bytes: [UInt8]) async throws(SigningKeysProblem) {
        guard let set = try? JSONReader.read(bytes), case .array(let elements)? = set["keys"]?.content else {
            throw SigningKeysProblem(description: "it is not a JSON Web Key Set")
        }
        for element in elements.prefix(Self.maximumKeys) where Self.isForSignatures(element) {
            for algorithm in Self.algorithms(element) {
                let slot = Slot(keyID: element["kid"]?.string, algorithm: algorithm)
                guard keys[slot] == nil, let key = await Self.key(element, algorithm) else { continue }
                keys[slot] = key
            }
        }
        guard !keys.isEmpty else { throw SigningKeysProblem(description: "it has no key that can be used") }
    }

    /// True if there is a key for a token's `kid` and `alg`.
    func haveKey(for token: JSONWebToken) -> Bool { key(for: token) != nil }

    /// Checks a signature.
    ///
    /// - Throws: ``TokenProblem/unknownKey``.
    func verify(_ token: JSONWebToken) throws(TokenProblem) -> Bool {
        guard let key = key(for: token) else { throw .unknownKey }
        // It throws if the signature has the wrong length.
        return (try? key.verify(token.signature, signs: token.signed)) ?? false
    }

    /// The key of a token; for a token without `kid`, the key of its algorithm, if there is only one.
    private func key(for token: JSONWebToken) -> (any JWTAlgorithm)? {
        if let id = token.keyID { return keys[Slot(keyID: id, algorithm: token.algorithm)] }
        let candidates = keys.filter { $0.key.algorithm == token.algorithm }
        return candidates.count == 1 ? candidates.first?.value : nil
    }

    // MARK: Reading

    /// Source: RFC 7517 §4.2, §4.3.
    private static func isForSignatures(_ key: JSONNode) -> Bool {
        if let use = key["use"], use.string != "sig" { return false }
        guard let operations = key["key_ops"] else { return true }
        guard case .array(let elements) = operations.content else { return false }
        return elements.contains { $0.string == "verify" }
    }

    private static func algorithms(_ key: JSONNode) -> [SigningAlgorithm] {
        let ofType: [SigningAlgorithm] =
            switch (key["kty"]?.string, key["crv"]?.string) {
            case ("RSA", _): [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
            case ("EC", "P-256"): [.es256]
            case ("EC", "P-384"): [.es384]
            case ("OKP", "Ed25519"): [.edDSA]
            default: []
            }
        guard let own = key["alg"] else { return ofType }
        return ofType.filter { $0.rawValue == own.string }
    }

    /// Converts a key for the library; `nil` for a key that is not valid or is shorter than 2,048 bits.
    private static func key(_ node: JSONNode, _ algorithm: SigningAlgorithm) async -> (any JWTAlgorithm)? {
        // The library's collections find keys by id, fall back to another key, and keep the first algorithm requested.
        // So each key has its own collection, and is chosen above.
        let id = JWKIdentifier(string: "key")
        let key: JWK
        switch algorithm {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512:
            key = .rsa(
                JWK.Algorithm(rawValue: algorithm.rawValue),
                identifier: id,
                modulus: node["n"]?.string,
                exponent: node["e"]?.string
            )
        case .es256, .es384:
            key = .ecdsa(
                JWK.Algorithm(rawValue: algorithm.rawValue),
                identifier: id,
                x: node["x"]?.string,
                y: node["y"]?.string,
                curve: algorithm == .es256 ? .p256 : .p384
            )
        case .edDSA:
            key = .octetKeyPair(.eddsa, identifier: id, x: node["x"]?.string, y: nil, curve: .ed25519)
        }
        let collection = JWTKeyCollection()
        return try? await collection.add(jwk: key).getKey(for: id, alg: algorithm.rawValue)
    }
}

/// The reason why a provider's keys cannot be used.
struct SigningKeysProblem: Error, CustomStringConvertible {
    let description: String
}
