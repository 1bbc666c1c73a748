import Formats
import HubProtocol
import WebTokens

/// The public keys of an identity provider: a JSON Web Key Set.
///
/// A key is used only for its `alg`, or without one for the algorithms of its type: a token must not choose how its
/// signature is checked. Encryption keys, shared secrets and keys of other types are skipped.
///
/// Source: RFC 7517.
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

    private var keys: [Slot: VerificationKey] = [:]

    /// Reads a set.
    ///
    /// - Throws: ``SigningKeysProblem`` if it is not a key set, or has no usable key.
    init(_ bytes: [UInt8]) throws(SigningKeysProblem) {
        guard let set = try? JSONReader.read(bytes), case .array(let elements)? = set["keys"]?.content else {
            throw SigningKeysProblem(description: "it is not a JSON Web Key Set")
        }
        for element in elements.prefix(Self.maximumKeys) where Self.isForSignatures(element) {
            guard let key = VerificationKey(element) else { continue }
            for algorithm in key.algorithms where element["alg"].map({ $0.string == algorithm.rawValue }) ?? true {
                let slot = Slot(keyID: element["kid"]?.string, algorithm: algorithm)
                if keys[slot] == nil { keys[slot] = key }
            }
        }
        guard !keys.isEmpty else { throw SigningKeysProblem(description: "it has no key that can be used") }
    }

    /// True if there is a key for a token's `kid` and `alg`.
    func haveKey(for token: SignedToken) -> Bool { key(for: token) != nil }

    /// Checks a signature.
    ///
    /// - Throws: ``TokenProblem/unknownKey``.
    func verify(_ token: SignedToken) throws(TokenProblem) -> Bool {
        guard let key = key(for: token) else { throw .unknownKey }
        return token.isSigned(by: key)
    }

    /// The key of a token; for a token without `kid`, the key of its algorithm, if there is only one.
    private func key(for token: SignedToken) -> VerificationKey? {
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
}

/// The reason why a provider's keys cannot be used.
struct SigningKeysProblem: Error, CustomStringConvertible {
    let description: String
}
