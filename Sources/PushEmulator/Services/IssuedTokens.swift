import Crypto
import Foundation
import HubProtocol

/// Access tokens that the emulator issues and recognizes without storing them.
struct IssuedTokens: Sendable {
    enum Audience: String, Sendable {
        case google
        case microsoft
    }

    /// Seconds that Google's tokens are valid.
    static let googleLifetime: Int64 = 3_599
    /// Seconds that Microsoft's tokens are valid.
    static let microsoftLifetime: Int64 = 86_400

    private var key = SymmetricKey(size: .bits256)

    /// Invalidates all tokens issued so far.
    mutating func revokeAll() { key = SymmetricKey(size: .bits256) }

    func issue(for audience: Audience, lifetime: Int64, at now: Timestamp) -> String {
        let facts = "emulated.\(audience.rawValue).\(now.seconds + lifetime)"
        return "\(facts).\(Base64URL.encode(Array(code(facts))))"
    }

    func isValid(_ token: some StringProtocol, for audience: Audience, at now: Timestamp) -> Bool {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[1] == audience.rawValue, let end = Int64(parts[2]), now.seconds < end,
            let given = Base64URL.decode(String(parts[3]))
        else { return false }
        let facts = parts.prefix(3).joined(separator: ".")
        return HMAC<SHA256>.isValidAuthenticationCode(given, authenticating: Data(facts.utf8), using: key)
    }

    private func code(_ facts: String) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: Data(facts.utf8), using: key)
    }
}
