import Foundation
package import HubProtocol
package import NetworkAddresses
package import OutboundHTTP

/// The push services that this program supports.
package struct PushServiceDirectory: PushServiceMaker {
    /// A server on this machine that answers for all push services.
    package struct Emulation: Sendable {
        /// The origin that replaces the services' own: `https://127.0.0.1:PORT`.
        package let origin: String
        /// A PEM file with the authority that signed its certificate.
        package let certificateAuthorities: String
        /// Credentials that it accepts.
        package let credentials: [PlatformCredential]

        package init(origin: String, certificateAuthorities: String, credentials: [PlatformCredential]) {
            self.origin = origin
            self.certificateAuthorities = certificateAuthorities
            self.credentials = credentials
        }
    }

    private let surroundings: ServiceSurroundings
    private let tokens: ProviderTokens
    private let pace: FcmPaces

    /// - Parameters:
    ///   - emulation: `nil` for the real services.
    ///   - browserHosts: Exact host names of browsers' push services in addition to the well-known ones.
    ///   - browserAddresses: Addresses that those hosts may have in addition to public ones.
    ///   - tokens: Stores APNs' provider tokens across restarts.
    ///   - userAgent: The `User-Agent` header (RFC 9110 §10.1.5).
    ///   - proxies: For the hosts of Apple, Google and Microsoft; browsers' endpoints are reached directly.
    ///   - now: The wall clock.
    package init(
        emulation: Emulation? = nil,
        browserHosts: [String] = [],
        browserAddresses: [AddressBlock] = [],
        tokens: any ProviderTokenStore = NoProviderTokenStore(),
        userAgent: String = "newswire",
        proxies: ProxySettings = .environment,
        now: @escaping @Sendable () -> Timestamp = { Timestamp(Date()) }
    ) {
        surroundings = ServiceSurroundings(
            emulation: emulation,
            browserHosts: browserHosts.map { $0.lowercased() },
            browserAddresses: browserAddresses,
            userAgent: userAgent,
            now: now,
            proxies: proxies
        )
        self.tokens = ProviderTokens(tokens, now: now)
        pace = FcmPaces()
    }

    package var kinds: Set<PlatformCredential.Kind> { [.apns, .fcmV1, .wns, .browser, .mpns, .adm, .baidu] }
    package var standing: [PlatformCredential] { surroundings.emulation?.credentials ?? [] }

    /// Time before a credential's expiry at which warnings begin.
    package static let expiryNotice = Duration.seconds(30 * 86_400)

    package func service(for credential: PlatformCredential) throws(BadCredential) -> any PushService {
        switch credential.kind {
        case .apns: try ApnsService(credential, tokens, surroundings)
        case .fcmV1: try FcmService(credential, pace, surroundings)
        case .wns: try WnsService(credential, surroundings)
        case .browser: try WebPushService(credential, surroundings)
        case .mpns, .adm, .baidu: RetiredService(credential)
        default: throw BadCredential("the hub does not deliver with \(credential.kind.element)")
        }
    }

    package func check(_ credential: PlatformCredential) throws(BadCredential) {
        switch credential.kind {
        case .apns: try ApnsService.check(credential, at: surroundings.now())
        case .fcmV1: _ = try FcmAccount(credential)
        case .wns: _ = try WnsAccount(credential)
        case .browser: try WebPushService.check(credential)
        default: break
        }
    }

    package func audience(of credential: PlatformCredential) -> String? {
        guard credential.kind == .apns, credential["Token"]?.isEmpty ?? true,
            credential["ApnsCertificate"]?.isEmpty == false
        else { return credential.audience }
        return try? ApnsCredential(credential).audience
    }
}
