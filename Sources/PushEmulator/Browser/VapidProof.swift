import Crypto
import Formats
import HubProtocol
import NetworkAddresses
import WebTokens

/// Checks the identification of a sender to a browser's push service.
///
/// Source: RFC 8292 §2 and §3.
enum VapidProof {
    struct Problem: Error {
        let reason: String
        /// True if the token is valid, but for another endpoint or sender.
        var isMismatch = false
    }

    /// Longest validity of a token from now, in seconds.
    private static let maximumLifetime: Int64 = 86_400

    /// Checks the text after the scheme, `t=…, k=…`, for a request to a host and port.
    ///
    /// Returns the sender's public key, 65 bytes, if the check succeeds.
    static func check(_ text: Substring, audience: String, now: Timestamp) -> Result<[UInt8], Problem> {
        var fields: [String: String] = [:]
        for field in text.split(separator: ",") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return .failure(Problem(reason: "the header is not t=…, k=…")) }
            let name = parts[0].drop { $0 == " " }
            fields[String(name)] = String(parts[1].filter { $0 != " " && $0 != "\"" })
        }
        guard let key = fields["k"].flatMap({ Base64URL.decode($0) }), key.count == 65,
            let publicKey = try? P256.Signing.PublicKey(x963Representation: key)
        else { return .failure(Problem(reason: "'k' is not an uncompressed P-256 key in base64url")) }
        guard let token = fields["t"].flatMap({ try? SignedToken($0, algorithms: [.es256]) }) else {
            return .failure(Problem(reason: "'t' is not an ES256 token"))
        }
        guard token.isSigned(by: .p256(publicKey)) else {
            return .failure(Problem(reason: "the token's signature is not by 'k'"))
        }
        return claimProblem(token, audience, now).map { .failure($0) } ?? .success(key)
    }

    private static func claimProblem(_ token: SignedToken, _ audience: String, _ now: Timestamp) -> Problem? {
        guard let given = token.claims["aud"]?.string, given == origin(audience) else {
            return Problem(reason: "'aud' is not the origin of the endpoint", isMismatch: true)
        }
        guard let end = token.time("exp"), end > now.seconds else {
            return Problem(reason: "the token has expired, or 'exp' is not a whole number")
        }
        guard end - now.seconds <= maximumLifetime else { return Problem(reason: "'exp' is more than 24 hours away") }
        guard let contact = token.claims["sub"]?.string,
            contact.hasPrefix("mailto:") || contact.hasPrefix("https:"), !contact.contains(" "), !contact.contains("<")
        else { return Problem(reason: "'sub' is not a mailto: or https: address", isMismatch: true) }
        return nil
    }

    /// Scheme, host and port, without the usual port (RFC 6454 §6.1).
    private static func origin(_ authority: String) -> String {
        "https://" + WebScheme.https.withoutPort(authority.lowercased())
    }
}
