import Crypto
package import HubProtocol

/// A secret that stands for a signed-in user: 256 random bits, of which only the SHA-256 is stored.
package struct AccessToken: Sendable, CustomStringConvertible {
    package static let lifetime = Duration.seconds(30 * 86_400)
    /// Tokens of one user; a further login revokes the oldest.
    package static let maximumPerUser = 100
    private static let byteCount = 32

    /// As it travels, in base64url.
    package let text: String
    let hash: [UInt8]

    /// `nil` for a text that cannot be a token.
    init?(_ text: String) {
        guard text.utf8.count <= 64, let bytes = Base64URL.decode(text), bytes.count == Self.byteCount else {
            return nil
        }
        self.init(bytes)
    }

    static func random() -> AccessToken { AccessToken(RandomOctets.make(count: byteCount)) }

    private init(_ bytes: [UInt8]) {
        text = Base64URL.encode(bytes)
        hash = Array(SHA256.hash(data: bytes))
    }

    /// Not the token itself, wherever one is printed.
    package var description: String { "(token)" }
}

/// The stored facts about a token, without the token.
package struct TokenRecord: Sendable, Equatable {
    package let id: Int64
    /// As the client named it at the login.
    package let device: String?
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    /// To within ``TokenUse/precision``.
    package let usedAt: Timestamp
}

/// When a token was last used.
struct TokenUse: Sendable {
    /// Noting every use would make each request a write.
    static let precision = Duration.seconds(3_600)

    let tokenID: Int64
    let lastAt: Timestamp
}

/// A token as a login hands it out.
package struct IssuedToken: Sendable {
    package let token: AccessToken
    package let expiresAt: Timestamp
}
