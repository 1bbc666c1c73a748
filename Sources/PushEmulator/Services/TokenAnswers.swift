import Formats
import Foundation
import HubProtocol
import WebEdge
import WebTokens

/// Replies of the token endpoints of Google and Microsoft.
///
/// Source: Google, "Using OAuth 2.0 for server to server applications"; RFC 7523 §2.1; Microsoft, "Push Notification
/// Service request and response headers" and "OAuth 2.0 client credentials flow"; RFC 6749 §4.4.
struct TokenAnswers: Sendable {
    enum Issuer: Sendable, Equatable {
        case google
        /// Tokens for apps of the Store.
        case microsoftAccount
        /// Tokens for the Windows App SDK.
        case entra

        var service: EmulatedService { self == .google ? .fcm : .wns }
    }

    static let googlePath = "/token"
    static let microsoftAccountPath = "/accesstoken.srf"
    static let entraPathEnd = "/oauth2/v2.0/token"
    /// Prefix of service accounts and client secrets that are refused.
    static let refusedClient = "refused"

    private static let googleAudiences = [
        "https://oauth2.googleapis.com/token", "https://www.googleapis.com/oauth2/v4/token",
    ]
    /// Maximum number of fields of a form; clients send at most five.
    private static let maximumFields = 32
    private static let googleScope = "https://www.googleapis.com/auth/firebase.messaging"
    private static let broadGoogleScope = "https://www.googleapis.com/auth/cloud-platform"
    private static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// Seconds.
    private static let maximumAssertionLifetime: Int64 = 3_600
    /// Seconds by which a client's clock may differ.
    private static let clockTolerance: Int64 = 300

    let issue: @Sendable (IssuedTokens.Audience, _ lifetime: Int64, Timestamp) -> String

    /// True if each field occurs once: two readers could use different values.
    private static func isUnambiguous(_ names: [String]) -> Bool {
        names.count <= maximumFields && Set(names).count == names.count
    }

    func answer(_ request: EmulatorRequest, _ issuer: Issuer) -> EmulatorReply {
        do throws(EmulatorReply) {
            guard request.method == "POST" else {
                throw Self.refusal("invalid_request", "POST is expected", status: 405)
            }
            guard request.mediaType == FormFields.contentType, let form = FormFields(body: request.body),
                Self.isUnambiguous(form.names)
            else {
                throw Self.refusal("invalid_request", "the body is not application/x-www-form-urlencoded")
            }
            switch issuer {
            case .google: return try google(form, request)
            case .microsoftAccount:
                try checkClient(form, scope: "notify.windows.com")
                guard form["client_id"]?.hasPrefix("ms-app://") == true else {
                    throw Self.refusal("invalid_client", "client_id is not a package SID: ms-app://S-1-15-2-…")
                }
                return microsoft(request, lifetime: JSONText(IssuedTokens.microsoftLifetime))
            case .entra:
                try checkClient(form, scope: "https://wns.windows.com/.default")
                // Entra sometimes sends the number as a string.
                return microsoft(request, lifetime: JSONText("\(IssuedTokens.microsoftLifetime)"))
            }
        } catch {
            return error
        }
    }

    /// Returns the reply for a fault; `nil` for one that does not apply to tokens.
    func reply(_ fault: PushFault.Effect) -> EmulatorReply? {
        switch fault {
        case .badCredential: Self.refusal("invalid_client", "the client is refused", status: 401)
        case .throttled(let wait): EmulatorReply(429, [wait.retryAfter])
        case .unavailable(let wait): EmulatorReply(503, [wait.retryAfter])
        case .internalError: EmulatorReply(500)
        case .dead, .malformed, .slow, .goAway, .wrongTopic, .dropped: nil
        }
    }

    private func google(_ form: FormFields, _ request: EmulatorRequest) throws(EmulatorReply) -> EmulatorReply {
        guard form["grant_type"] == Self.assertionGrant else {
            throw Self.refusal(
                "unsupported_grant_type",
                "Invalid grant_type: \((form["grant_type"] ?? "").prefix(100))"
            )
        }
        guard let token = form["assertion"].flatMap({ try? SignedToken($0, algorithms: [.rs256]) }),
            let account = token.text("iss")
        else { throw Self.refusal("invalid_grant", "Invalid JWT: it is not an RS256 token with 'iss'") }
        guard !account.hasPrefix(Self.refusedClient) else {
            throw Self.refusal("invalid_grant", "Invalid grant: account not found")
        }
        guard let audience = token.claims["aud"]?.string,
            Self.googleAudiences.contains(audience) || audience == "https://\(request.authority)\(Self.googlePath)"
        else { throw Self.refusal("invalid_grant", "Invalid JWT: Failed audience check.") }
        let scopes = token.claims["scope"]?.string?.split(separator: " ").map { String($0) } ?? []
        guard scopes.contains(Self.googleScope) || scopes.contains(Self.broadGoogleScope) else {
            throw Self.refusal("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        let now = request.receivedAt.seconds
        guard let issued = token.time("iat"), let end = token.time("exp"),
            (0...Self.maximumAssertionLifetime).contains(end.subtractingReportingOverflow(issued).partialValue),
            issued <= now + Self.clockTolerance, end >= now - Self.clockTolerance
        else {
            throw Self.refusal(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
            )
        }
        return EmulatorReply(
            200,
            json: [
                "access_token": JSONText(issue(.google, IssuedTokens.googleLifetime, request.receivedAt)),
                "expires_in": JSONText(IssuedTokens.googleLifetime), "token_type": "Bearer",
            ]
        )
    }

    private func checkClient(_ form: FormFields, scope: String) throws(EmulatorReply) {
        guard form["grant_type"] == "client_credentials" else {
            throw Self.refusal("unsupported_grant_type", "grant_type is not client_credentials")
        }
        guard let client = form["client_id"], !client.isEmpty, let secret = form["client_secret"], !secret.isEmpty
        else {
            throw Self.refusal("invalid_request", "client_id or client_secret is missing")
        }
        guard form["scope"] == scope else { throw Self.refusal("invalid_scope", "scope is not \(scope)") }
        guard !secret.hasPrefix(Self.refusedClient) else {
            throw Self.refusal("invalid_client", "Invalid client secret is provided.")
        }
    }

    private func microsoft(_ request: EmulatorRequest, lifetime: JSONText) -> EmulatorReply {
        let token = issue(.microsoft, IssuedTokens.microsoftLifetime, request.receivedAt)
        return EmulatorReply(
            200,
            json: ["token_type": "bearer", "access_token": JSONText(token), "expires_in": lifetime]
        )
    }

    private static func refusal(_ error: String, _ description: String, status: Int = 400) -> EmulatorReply {
        EmulatorReply(
            status,
            [HeaderLine("cache-control", "no-store")],
            json: ["error": JSONText(error), "error_description": JSONText(description)]
        )
    }
}
