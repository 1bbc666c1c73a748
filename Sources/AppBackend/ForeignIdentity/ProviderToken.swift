import Formats
import HubProtocol
import WebTokens

/// The reasons why a provider's token is refused; for the log only, never for the client.
enum TokenProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// Not a JSON Web Token, or a kind of token that does not sign users in.
    case malformed(String)
    case algorithm
    /// The provider has no key with this id and algorithm.
    case unknownKey
    case signature
    /// A claim is missing or has a wrong value.
    case claim(String)
    /// The provider's keys are not available yet.
    case noKeys

    var description: String {
        switch self {
        case .malformed(let reason): "malformed: \(reason)"
        case .algorithm: "its algorithm is not accepted"
        case .unknownKey: "no key of the provider has its 'kid' and 'alg'"
        case .signature: "its signature is not valid"
        case .claim(let name): "its claim '\(name)' is missing or not the expected one"
        case .noKeys: "the provider's keys cannot be read"
        }
    }
}

/// A token of a user, by the rules of the identity provider's tokens.
extension SignedToken {
    /// The tolerated difference between the provider's clock and ours.
    static let leeway = Duration.seconds(60)
    /// Values of `typ` of users' tokens; other values are for other purposes, such as a logout.
    private static let types: Set = ["jwt", "at+jwt", "application/at+jwt"]
    /// Bytes of the longest subject (OpenID Connect Core §2).
    private static let maximumSubject = 255

    /// Reads a token from a client; its signature and claims are not checked.
    init(ofProvider text: String) throws(TokenProblem) {
        do throws(SignedTokenError) {
            try self.init(text, algorithms: Set(SigningAlgorithm.allCases), types: Self.types)
        } catch {
            switch error {
            case .malformed(let reason): throw .malformed(reason)
            case .algorithm: throw .algorithm
            }
        }
    }

    /// Checks the claims.
    ///
    /// - Returns: `sub`.
    func subject(issuer: String, audience: String, at now: Timestamp) throws(TokenProblem) -> String {
        guard claims["iss"]?.string == issuer else { throw .claim("iss") }
        guard isFor(audience) else { throw .claim("aud") }
        let now = Double(now.milliseconds) / 1_000
        let leeway = Double(Self.leeway.components.seconds)
        guard let expiry = try time("exp"), now < expiry + leeway else { throw .claim("exp") }
        for name in ["nbf", "iat"] {
            if let start = try time(name), now + leeway < start { throw .claim(name) }
        }
        guard let subject = claims["sub"]?.string, (1...Self.maximumSubject).contains(subject.utf8.count) else {
            throw .claim("sub")
        }
        return subject
    }

    private func isFor(_ audience: String) -> Bool {
        guard let claim = claims["aud"] else { return false }
        if case .array(let elements) = claim.content { return elements.contains { $0.string == audience } }
        return claim.string == audience
    }

    /// A time in seconds since 1970, which may have a fraction (RFC 7519 §2); `nil` without the claim.
    private func time(_ name: String) throws(TokenProblem) -> Double? {
        guard let claim = claims[name] else { return nil }
        guard case .number(let text) = claim.content, let seconds = Double(text), seconds.isFinite else {
            throw .claim(name)
        }
        return seconds
    }
}
