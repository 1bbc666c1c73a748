import Crypto
import Foundation
import HubProtocol
import HubRouting
import Synchronization

/// Checks tokens against rules, and remembers valid ones.
struct TokenChecker: Sendable {
    private let rules: AccessRules
    private let proven = ProvenTokens()

    init(_ rules: AccessRules) { self.rules = rules }

    /// Checks the value of an `Authorization` header (protocol document §1.4).
    ///
    /// - Throws: 401 with the reason: the token is missing, malformed or expired, has a bad signature or the wrong
    ///   audience, or lacks the right.
    func authorize(
        _ header: String?,
        path: String,
        needs right: AccessRights,
        now: Timestamp
    ) throws(ProtocolError) -> Grant {
        guard let header, !header.isEmpty else { throw .unauthorized(.missingToken) }
        var (token, grant) = try prove(header)
        guard !token.isExpired(at: now.seconds) else { throw .unauthorized(.expiredToken) }
        guard token.covers(path: path) else { throw .unauthorized(.invalidAudience) }
        guard grant.rights.grants(right) else { throw .unauthorized(.claimRequired(right)) }
        grant.validUntil = token.validUntil(at: now.seconds)
        return grant
    }

    /// Finds the key that a token was signed with.
    ///
    /// A token that names an unknown rule takes as long as one with a wrong key, so that the names of rules cannot be
    /// found out.
    ///
    /// - Throws: 401 for a token that cannot be read, or that no key of its rule has signed.
    private func prove(_ header: String) throws(ProtocolError) -> ProvenToken {
        let digest = SHA256.hash(data: Data(header.utf8))
        if let known = proven[digest] { return known }
        let token = try SharedAccessToken(parsing: header)
        guard let credential = credential(of: token) else { throw .unauthorized(.invalidSignature) }
        let rights = rules.rule(of: credential)?.rights ?? []
        let result = (token, Grant(rights: rights, credential: credential))
        proven.note(result, digest)
        return result
    }

    /// The first key that has signed a token; a token that names an unknown rule is checked against as many keys as any
    /// other.
    private func credential(of token: SharedAccessToken) -> Credential? {
        var proven: Credential?
        for (rules, isOfNamespace) in [(rules.hub, false), (rules.namespace, true)] {
            let rule = rules.first { $0.name == token.keyName } ?? nobody
            guard let key = [rule.primaryKey, rule.secondaryKey].first(where: { token.isSigned(with: $0) }) else {
                continue
            }
            proven = proven ?? Credential(rule: rule.name, key: key, isOfNamespace: isOfNamespace)
        }
        return proven
    }
}

/// A token with a valid signature, and the grant of its rule.
private typealias ProvenToken = (token: SharedAccessToken, grant: Grant)

/// Tokens that were valid under one set of rules: clients send the same token for hours.
///
/// Tokens are looked up by digest. A lookup by text would compare signatures byte by byte, and its time would reveal
/// how many bytes are right.
private final class ProvenTokens: Sendable {
    /// Number of tokens, each of a little more than 8 KiB at most.
    private static let maximum = 1_024

    private let tokens = Mutex<[SHA256Digest: ProvenToken]>([:])

    subscript(_ digest: SHA256Digest) -> ProvenToken? { tokens.withLock { $0[digest] } }

    func note(_ token: ProvenToken, _ digest: SHA256Digest) {
        tokens.withLock { tokens in
            if tokens.count >= Self.maximum { tokens.removeAll(keepingCapacity: true) }
            tokens[digest] = token
        }
    }
}

/// A rule with unknown keys, for tokens that name an unknown rule.
private let nobody = AccessRule.generated(name: "", rights: [])
