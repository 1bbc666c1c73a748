import Crypto
package import HubProtocol
import Synchronization

/// Keeps provider tokens while the program does not run; APNs counts new ones.
package protocol ProviderTokenStore: Sendable {
    /// `nil` if there is none that can be read.
    func load(_ issuer: ProviderIssuer) -> ProviderToken?
    func save(_ token: ProviderToken, _ issuer: ProviderIssuer)
}

/// Forgets tokens.
package struct NoProviderTokenStore: ProviderTokenStore {
    package init() {}
    package func load(_ issuer: ProviderIssuer) -> ProviderToken? { nil }
    package func save(_ token: ProviderToken, _ issuer: ProviderIssuer) {}
}

/// A key of a team at Apple.
package struct ProviderIssuer: Hashable, Sendable, Codable {
    package let team: String
    package let keyID: String
    /// Of the public key: a key that was replaced under its old name has other tokens.
    package let fingerprint: String
}

/// What proves to APNs who sends.
package struct ProviderToken: Sendable, Equatable, Codable {
    package let text: String
    package let issuedAt: Timestamp

    package init(text: String, issuedAt: Timestamp) {
        self.text = text
        self.issuedAt = issuedAt
    }
}

/// The provider tokens of all hubs: one for each key, made anew as seldom as APNs wants it.
///
/// APNs refuses tokens older than an hour, and wants no new one within 20 minutes.
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
    /// One that APNs has called expired is replaced if it may be: not within 20 minutes, unless its time is wrong beyond
    /// doubt.
    ///
    /// - Throws: What signing throws.
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
        // A clock that was set back, or an hour forward, made it useless.
        guard age >= .zero, age < Self.longestLifetime else { return false }
        guard token.text == refused else { return age < Self.lifetime }
        return age < Self.shortestLifetime
    }
}

/// A private key with which a team signs.
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
        try JSONWebToken.es256(
            header: [("kid", JSONText.string(issuer.keyID))],
            claims: [("iss", JSONText.string(issuer.team)), ("iat", "\(time.seconds)")],
            key: key
        )
    }
}
