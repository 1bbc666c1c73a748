import Crypto
import Formats
package import HubProtocol
import Synchronization
import WebTokens

/// Stores provider tokens across restarts, since APNs limits the number of new ones.
package protocol ProviderTokenStore: Sendable {
    /// Returns the stored token; `nil` if there is none or it cannot be read.
    func load(_ issuer: ProviderIssuer) -> ProviderToken?
    func save(_ token: ProviderToken, _ issuer: ProviderIssuer)
}

/// A store that keeps nothing.
package struct NoProviderTokenStore: ProviderTokenStore {
    package init() {}
    package func load(_ issuer: ProviderIssuer) -> ProviderToken? { nil }
    package func save(_ token: ProviderToken, _ issuer: ProviderIssuer) {}
}

/// A team's key at Apple.
package struct ProviderIssuer: Hashable, Sendable, Codable {
    package let team: String
    package let keyID: String
    /// Digest of the public key, since a new key under an old id has other tokens.
    package let fingerprint: String
}

/// A signed token that identifies the sender to APNs.
package struct ProviderToken: Sendable, Equatable, Codable {
    package let text: String
    package let issuedAt: Timestamp
}

/// The provider tokens of all hubs, one for each key.
///
/// APNs refuses tokens older than an hour, and new ones within 20 minutes of the last.
final class ProviderTokens: Sendable {
    private static let lifetime = Duration.seconds(50 * 60)
    private static let shortestLifetime = Duration.seconds(20 * 60)
    private static let longestLifetime = Duration.seconds(60 * 60)

    private let store: any ProviderTokenStore
    private let now: @Sendable () -> Timestamp
    private let tokens = Mutex<[ProviderIssuer: ProviderToken]>([:])

    init(_ store: any ProviderTokenStore, now: @escaping @Sendable () -> Timestamp) {
        self.store = store
        self.now = now
    }

    /// Returns the token to send with.
    ///
    /// A token that APNs calls expired is replaced only if it is older than 20 minutes or its time is certainly wrong.
    ///
    /// - Throws: An error of signing.
    func token(_ key: ProviderKey, after refused: String? = nil) throws -> String {
        let time = now()
        return try tokens.withLock { tokens in
            let kept = tokens[key.issuer] ?? store.load(key.issuer)
            if let kept, isGood(kept, at: time, refused: refused) {
                tokens[key.issuer] = kept
                return kept.text
            }
            let new = ProviderToken(text: try key.sign(issuedAt: time), issuedAt: time)
            tokens[key.issuer] = new
            store.save(new, key.issuer)
            return new.text
        }
    }

    private func isGood(_ token: ProviderToken, at time: Timestamp, refused: String?) -> Bool {
        let age = time - token.issuedAt
        // The clock was set back, or forward by an hour.
        guard age >= .zero, age < Self.longestLifetime else { return false }
        guard token.text == refused else { return age < Self.lifetime }
        return age < Self.shortestLifetime
    }
}

/// A private key with which a team signs provider tokens.
struct ProviderKey: Sendable {
    let issuer: ProviderIssuer
    private let key: P256.Signing.PrivateKey

    init(team: String, keyID: String, key: P256.Signing.PrivateKey) {
        issuer = ProviderIssuer(
            team: team,
            keyID: keyID,
            fingerprint: Base64URL.encode(Array(SHA256.hash(data: key.publicKey.x963Representation).prefix(9)))
        )
        self.key = key
    }

    func sign(issuedAt time: Timestamp) throws -> String {
        try SignedToken.es256(
            header: [("kid", JSONText(issuer.keyID))],
            claims: ["iss": JSONText(issuer.team), "iat": JSONText(time.seconds)],
            key: key
        )
    }
}
