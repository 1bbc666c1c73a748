import Crypto
import Foundation
import HubProtocol
import HubRouting
import Synchronization

/// Checks tokens against rules, and remembers those that were found right.
struct TokenChecker: Sendable {
    private let rules: AccessRules
    private let proven = ProvenTokens()

    init(_ rules: AccessRules) { self.rules = rules }

    /// Checks the value of an `Authorization` header (protocol document §1.4).
    ///
    /// - Throws: 401 with the reason: missing, malformed, expired, bad signature, wrong audience, or lacking the right.
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
    /// A name that no rule has takes as long as a wrong key, so that nobody learns the names.
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

    /// The first key that has signed a token; a name that no rule has is checked against as many keys as any other.
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

/// A token whose signature was found right, and what its rule allows.
private typealias ProvenToken = (token: SharedAccessToken, grant: Grant)

/// Tokens that were found right by one set of rules: clients send the same one for hours.
///
/// They are known by digests: to look for the text itself would compare signatures byte by byte, and tell by its time how many
/// bytes are right.
private final class ProvenTokens: Sendable {
    /// With some more than 8 KiB each at most.
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

/// A rule whose keys nobody knows, for names that no rule has.
private let nobody = AccessRule.generated(name: "", rights: [])
