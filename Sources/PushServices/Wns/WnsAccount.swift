import Formats
import HubProtocol

/// An app's account at WNS, with its secret.
///
/// Source: Microsoft, "Push Notification Service request and response headers"; "Quickstart: Push notifications in the
/// Windows App SDK"; RFC 6749 §4.4.
struct WnsAccount: Sendable {
    private enum Issuer: Sendable {
        /// Issues tokens for apps of the Store, by their package SID.
        case microsoftAccount
        /// Issues tokens for the Windows App SDK, to an application of a tenant.
        case entra(tenant: String)
    }

    private static let sidPrefix = "ms-app://"
    /// Azure's spellings of the only address.
    private static let liveAddresses = [
        "https://login.live.com/accesstoken.srf", "https://login.live.com/accesstoken.srf/", "https://login.live.com",
        "https://login.live.com/",
    ]

    private let issuer: Issuer
    private let client: String
    private let secret: String

    init(_ credential: PlatformCredential) throws(BadCredential) {
        let sid = credential["PackageSid"].map(Self.trimmed) ?? ""
        let ownClient = credential["ClientId"].map(Self.trimmed) ?? ""
        let tenant = credential["TenantId"].map(Self.trimmed) ?? ""
        guard let secret = credential["SecretKey"], !secret.isEmpty else { throw BadCredential("SecretKey is missing") }
        self.secret = secret
        if let address = credential["WindowsLiveEndpoint"], !address.isEmpty {
            guard Self.liveAddresses.contains(address.lowercased()) else {
                throw BadCredential("WindowsLiveEndpoint is not Microsoft's: leave it out")
            }
        }
        if tenant.isEmpty {
            guard sid.lowercased().hasPrefix(Self.sidPrefix), Self.isPlain(sid) else {
                throw BadCredential(
                    "PackageSid does not begin with \(Self.sidPrefix); an app of the Windows App SDK needs TenantId as well"
                )
            }
            (issuer, client) = (.microsoftAccount, sid)
            return
        }
        guard Self.isTenant(tenant) else { throw BadCredential("TenantId is not the id or the domain of a tenant") }
        let application = ownClient.isEmpty ? sid : ownClient
        guard !application.isEmpty, Self.isPlain(application), !application.lowercased().hasPrefix(Self.sidPrefix)
        else {
            throw BadCredential("with TenantId, ClientId or PackageSid must be the application's id")
        }
        (issuer, client) = (.entra(tenant: tenant), application)
    }

    private static func trimmed(_ text: String) -> String { String(text.trimming(\.isWhitespace)) }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 256 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// True if the text can be part of a path.
    private static func isTenant(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count) && text.first != "." && !text.contains("..")
            && text.hasOnlyLettersAndDigits(or: "-.")
    }

    /// Returns the URL of the token endpoint.
    func tokenAddress(_ surroundings: ServiceSurroundings) -> String {
        switch issuer {
        case .microsoftAccount: surroundings.origin("login.live.com") + "/accesstoken.srf"
        case .entra(let tenant): surroundings.origin("login.microsoftonline.com") + "/\(tenant)/oauth2/v2.0/token"
        }
    }

    /// The form that asks for an access token.
    var form: [(name: String, value: String)] {
        let scope =
            switch issuer {
            case .microsoftAccount: "notify.windows.com"
            case .entra: "https://wns.windows.com/.default"
            }
        return [
            ("grant_type", "client_credentials"), ("client_id", client), ("client_secret", secret), ("scope", scope),
        ]
    }
}
