import Formats
import HubProtocol
import Logging
package import OutboundHTTP
import WebTokens

/// An OpenID Connect provider whose users may sign in with its tokens.
package struct OpenIDConfiguration: Sendable {
    /// The location of the provider's keys.
    package enum Keys: Sendable {
        case url(String, OutboundClient)
        /// A file, which is read again when it changes.
        case file(String)
    }

    /// The standard claim with a user's name (OpenID Connect Core §5.1).
    package static let standardNameClaim = "preferred_username"

    /// The exact value of `iss`.
    package let issuer: String
    /// The required value of `aud`.
    package let audience: String
    package let keys: Keys
    /// The suffix of its users' names.
    package let suffix: NameSuffix
    /// The claim that gives a new account its name.
    package var nameClaim = standardNameClaim
    /// The claim with the user's roles, such as `roles` or, within objects, `realm_access.roles`; `nil` for none.
    package var roleClaim: String?

    package init(issuer: String, audience: String, keys: Keys, suffix: NameSuffix) {
        self.issuer = issuer
        self.audience = audience
        self.keys = keys
        self.suffix = suffix
    }
}

/// Finds the user of a provider's token.
///
/// The user is identified by `iss` and `sub`: other claims can change, and can be given to another user (OpenID Connect
/// Core §5.7).
package final class OpenIDProvider: Sendable {
    private let configuration: OpenIDConfiguration
    private let keys: ProviderKeys
    private let clock: BackendClock
    private let logger: Logger

    init(_ configuration: OpenIDConfiguration, clock: BackendClock, logger: Logger) {
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
        keys = ProviderKeys(configuration.keys, clock: clock.monotonic, logger: logger)
    }

    /// The user of a client's token.
    func user(_ text: String) async throws(TokenProblem) -> ForeignUser {
        do throws(TokenProblem) {
            let token = try SignedToken(ofProvider: text)
            // Check the claims before fetching keys: any client can send such a token.
            let subject = try token.subject(
                issuer: configuration.issuer,
                audience: configuration.audience,
                at: clock.now()
            )
            guard try await keys.keys(for: token).verify(token) else { throw .signature }
            let identity = ForeignIdentity(issuer: configuration.issuer, subject: subject)
            return ForeignUser(
                identity,
                name: name(token.claims),
                suffix: configuration.suffix,
                roles: roles(token.claims)
            )
        } catch {
            // Never log the token, nor a part of it.
            logger.debug("a token of another party is refused", metadata: ["error.reason": "\(error)"])
            throw error
        }
    }

    private func name(_ claims: JSONNode) -> String? {
        // An unverified address may belong to another person (OpenID Connect Core §5.7).
        let isVerified = claims["email_verified"].map { $0.isTrue || $0.string == "true" } ?? false
        if configuration.nameClaim == "email", !isVerified { return nil }
        return claims[configuration.nameClaim]?.string
    }

    private func roles(_ claims: JSONNode) -> Set<Role> {
        guard let path = configuration.roleClaim, let claim = Self.claim(path, in: claims) else { return [] }
        if case .array(let elements) = claim.content {
            return Set(elements.compactMap { $0.string.flatMap(Role.init) })
        }
        // As in `scope` (RFC 8693 §4.2).
        let words = claim.string?.split(separator: " ") ?? []
        return Set(words.compactMap { Role(String($0)) })
    }

    /// The value of a claim; `path` is its name, which may contain full stops, or its path through enclosing objects.
    private static func claim(_ path: String, in claims: JSONNode) -> JSONNode? {
        if let claim = claims[path] { return claim }
        return path.split(separator: ".").reduce(Optional(claims)) { $0?[String($1)] }
    }
}
