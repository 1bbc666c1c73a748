import Crypto
import GRDB
package import HubProtocol

/// A secret that authenticates a signed-in user: 256 random bits, of which only the SHA-256 is stored.
package struct AccessToken: Sendable, CustomStringConvertible {
    package static let lifetime = Duration.seconds(30 * 86_400)
    /// The largest number of tokens of one user; a further login revokes the oldest.
    package static let maximumPerUser = 100
    private static let byteCount = 32

    /// The token as it is transmitted, in base64url.
    package let text: String
    let hash: [UInt8]

    /// Creates a token from text; `nil` for text that cannot be a token.
    init?(_ text: String) {
        guard text.utf8.count <= 64, let bytes = Base64URL.decode(text), bytes.count == Self.byteCount else {
            return nil
        }
        self.init(bytes)
    }

    static func random() -> AccessToken { AccessToken(RandomBytes.make(count: byteCount)) }

    private init(_ bytes: [UInt8]) {
        text = Base64URL.encode(bytes)
        hash = Array(SHA256.hash(data: bytes))
    }

    /// A placeholder, so that the token itself is never printed.
    package var description: String { "(token)" }
}

/// The stored facts about a token, without the token itself.
package struct TokenRecord: Sendable, Equatable, Decodable, FetchableRecord {
    package let id: Int64
    /// The device's name that the client gave at login.
    package let device: String?
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    /// When the token was last used, to within ``TokenUse/precision``.
    package let usedAt: Timestamp
}

/// The last use of a token.
struct TokenUse: Sendable {
    /// The precision of ``lastAt``: recording every use would make each request a write.
    static let precision = Duration.seconds(3_600)

    let tokenID: Int64
    let lastAt: Timestamp
}

/// A token that a login returns.
package struct IssuedToken: Sendable {
    package let token: AccessToken
    package let expiresAt: Timestamp
}
