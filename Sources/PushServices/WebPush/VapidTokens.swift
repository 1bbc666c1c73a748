import Crypto
import HubProtocol
import Synchronization

/// Tokens that prove to the push services of browsers who sends.
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

    /// Services refuse more than 24 h; half of it leaves room for clocks that are wrong.
    private static let lifetime = Duration.seconds(12 * 3_600)
    /// A token is used until so much of its lifetime remains.
    private static let reserve = Duration.seconds(3_600)
    /// A token that was refused when it was younger than this would be refused again.
    private static let staleAfter = Duration.seconds(60)
    /// Tokens that are kept: devices choose the hosts.
    static let maximumCount = 1_000

    private let subject: String
    private let tokens = Mutex<[Place: Token]>([:])

    init(subject: String) {
        self.subject = subject
    }

    /// Number of tokens that are kept.
    var count: Int { tokens.withLock { $0.count } }

    /// Returns a token for an origin: a kept one, or a new one if none is good.
    func token(for origin: String, _ key: VapidKey, now: Timestamp) throws -> String {
        let place = Place(origin: origin, key: key.id)
        let kept = tokens.withLock { $0[place] }
        // One of the future was signed before the clock was set back.
        if let kept, kept.signedAt <= now, kept.signedAt + Self.lifetime - Self.reserve > now { return kept.text }
        return try renew(place, key, now)
    }

    /// Returns another token in place of one that was refused; `nil` if it was signed only now.
    func token(after refused: String, for origin: String, _ key: VapidKey, now: Timestamp) throws -> String? {
        let place = Place(origin: origin, key: key.id)
        let kept = tokens.withLock { $0[place] }
        if let kept, kept.text != refused { return kept.text }
        if let kept, kept.signedAt <= now, kept.signedAt + Self.staleAfter > now { return nil }
        return try renew(place, key, now)
    }

    /// Signs a token, and keeps none.
    func sign(for origin: String, _ key: VapidKey, now: Timestamp) throws -> String {
        try JSONWebToken.es256(
            header: [("typ", JSONText.string("JWT"))],
            claims: [
                ("aud", JSONText.string(origin)), ("exp", "\((now + Self.lifetime).seconds)"),
                ("sub", JSONText.string(subject)),
            ],
            key: key.privateKey
        )
    }

    private func renew(_ place: Place, _ key: VapidKey, _ now: Timestamp) throws -> String {
        let text = try sign(for: place.origin, key, now: now)
        tokens.withLock { tokens in
            if tokens[place] == nil, tokens.count >= Self.maximumCount,
                let oldest = tokens.min(by: { $0.value.signedAt < $1.value.signedAt })
            {
                tokens[oldest.key] = nil
            }
            tokens[place] = Token(text: text, signedAt: now)
        }
        return text
    }
}
