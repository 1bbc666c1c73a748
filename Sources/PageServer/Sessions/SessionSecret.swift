import Crypto
import HubProtocol

/// The content of a session cookie: the name of the session and the secret that proves it.
struct SessionSecret: Sendable, Equatable {
    /// The number of random bytes of each part.
    private static let count = 24
    private static let length = 32

    let name: String
    /// The secret; never log it.
    let secret: String

    static func random() -> SessionSecret {
        SessionSecret(
            name: Base64URL.encode(RandomBytes.make(count: count)),
            secret: Base64URL.encode(RandomBytes.make(count: count))
        )
    }

    var text: String { "\(name).\(secret)" }

    /// The SHA-256 of the secret; 192 random bits need no slow hash.
    var digest: [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }
}

extension SessionSecret {
    /// Reads `NAME.SECRET`; `nil` for other text.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == Self.length }) else { return nil }
        self.init(name: String(parts[0]), secret: String(parts[1]))
    }
}
