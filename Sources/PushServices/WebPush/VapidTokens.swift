import Crypto
import Formats
import HubProtocol
import Signals
import Synchronization
import WebTokens

/// Tokens that identify the sender to browsers' push services.
///
/// Source: RFC 8292 §2.
final class VapidTokens: Sendable {
    private struct Place: Hashable {
        let origin: String
        let key: String
    }

    private struct Token {
        let text: String
        let signedAt: Timestamp
    }

    /// Services refuse more than 24 h; half of that leaves room for wrong clocks.
    private static let lifetime = Duration.seconds(12 * 3_600)
    /// Remaining lifetime at which a token is replaced.
    private static let reserve = Duration.seconds(3_600)
    /// Age below which a new token would be refused as well.
    private static let staleAfter = Duration.seconds(60)
    /// Maximum number of tokens to keep; devices choose the hosts.
    static let maximumCount = 1_000

    private let subject: String
    private let tokens = Mutex(BoundedTable<Place, Token>(maximumCount: maximumCount))

    init(subject: String) {
        self.subject = subject
    }

    /// Number of kept tokens.
    var count: Int { tokens.withLock { $0.count } }

    /// Returns a token for an origin: a kept one, or a new one if none is valid.
    func token(for origin: String, _ key: VapidKey, now: Timestamp) throws -> String {
        let place = Place(origin: origin, key: key.id)
        let kept = tokens.withLock { $0[place] }
        // A token from the future was signed before the clock was set back.
        if let kept, kept.signedAt <= now, kept.signedAt + Self.lifetime - Self.reserve > now { return kept.text }
        return try renew(place, key, now)
    }

    /// Returns another token instead of a refused one; `nil` if that one was signed just now.
    func token(after refused: String, for origin: String, _ key: VapidKey, now: Timestamp) throws -> String? {
        let place = Place(origin: origin, key: key.id)
        let kept = tokens.withLock { $0[place] }
        if let kept, kept.text != refused { return kept.text }
        if let kept, kept.signedAt <= now, kept.signedAt + Self.staleAfter > now { return nil }
        return try renew(place, key, now)
    }

    /// Signs a token without keeping it.
    func sign(for origin: String, _ key: VapidKey, now: Timestamp) throws -> String {
        try SignedToken.es256(
            header: [("typ", "JWT")],
            claims: [
                "aud": JSONText(origin), "exp": JSONText((now + Self.lifetime).seconds), "sub": JSONText(subject),
            ],
            key: key.privateKey
        )
    }

    private func renew(_ place: Place, _ key: VapidKey, _ now: Timestamp) throws -> String {
        let text = try sign(for: place.origin, key, now: now)
        tokens.withLock { $0[place] = Token(text: text, signedAt: now) }
        return text
    }
}
