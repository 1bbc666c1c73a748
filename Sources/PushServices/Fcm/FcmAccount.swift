import Crypto
import CryptoExtras
import Formats
import HubProtocol
import WebTokens

/// A Google service account that may send to the devices of one project.
///
/// Source: Google, "Using OAuth 2.0 for server to server applications"; RFC 7523 §2.1.
struct FcmAccount: Sendable {
    let project: String
    private let email: String
    private let keyID: String?
    private let key: _RSA.Signing.PrivateKey

    /// Host and path of the token endpoint.
    static let tokenHost = "oauth2.googleapis.com"
    static let tokenPath = "/token"
    private static let audience = "https://oauth2.googleapis.com/token"
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// Seconds; Google's maximum.
    private static let lifetime: Int64 = 3_600
    /// Token addresses in current and older key files; all are the same service.
    private static let tokenAddresses = [
        audience, "https://accounts.google.com/o/oauth2/token", "https://www.googleapis.com/oauth2/v4/token",
    ]

    init(_ credential: PlatformCredential) throws(BadCredential) {
        guard let project = credential["ProjectId"], Self.isProject(project) else {
            throw BadCredential("ProjectId is not 4 to 64 lower-case letters, digits and hyphens")
        }
        guard let email = credential["ClientEmail"], email.contains("@"),
            email.utf8.count <= 320, email.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw BadCredential("ClientEmail is not a service account's address") }
        if let address = credential["token_uri"] ?? credential["TokenUri"], !address.isEmpty {
            guard Self.tokenAddresses.contains(address) else {
                throw BadCredential("token_uri is not Google's: leave it out, or set it to \(Self.audience)")
            }
        }
        let keyID = credential["PrivateKeyId"] ?? credential["private_key_id"]
        guard let text = credential["PrivateKey"], !text.isEmpty else { throw BadCredential("PrivateKey is missing") }
        self.project = project
        self.email = email
        self.keyID = keyID.flatMap { $0.isEmpty ? nil : $0 }
        key = try Self.key(PrivateKeyText.pem(text))
    }

    /// True if the text can be part of a path.
    private static func isProject(_ text: String) -> Bool {
        (4...64).contains(text.utf8.count) && text == text.lowercased() && text.hasOnlyLettersAndDigits(or: "-")
    }

    private static func key(_ pem: String) throws(BadCredential) -> _RSA.Signing.PrivateKey {
        do {
            return try _RSA.Signing.PrivateKey(pemRepresentation: pem)
        } catch CryptoKitError.incorrectParameterSize {
            throw BadCredential("PrivateKey is an RSA key of fewer than 2048 bits")
        } catch {
            let isElliptic =
                (try? P256.Signing.PrivateKey(pemRepresentation: pem)) != nil
                || (try? P384.Signing.PrivateKey(pemRepresentation: pem)) != nil
                || (try? P521.Signing.PrivateKey(pemRepresentation: pem)) != nil
            throw BadCredential(
                isElliptic
                    ? "PrivateKey is an elliptic curve key, not the RSA key of a service account"
                    : "PrivateKey cannot be read: it is not an RSA key in PEM (PKCS#8) or its base64"
            )
        }
    }

    /// The form that asks for an access token.
    func form(at now: Timestamp) throws -> [(name: String, value: String)] {
        let assertion = try SignedToken.rs256(
            header: [("typ", "JWT"), ("kid", JSONText(keyID))],
            claims: [
                "iss": JSONText(email), "scope": JSONText(Self.scope), "aud": JSONText(Self.audience),
                "iat": JSONText(now.seconds), "exp": JSONText(now.seconds + Self.lifetime),
            ],
            key: key
        )
        return [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion)]
    }
}
