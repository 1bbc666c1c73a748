import Foundation
package import HubProtocol
package import NetworkAddresses
package import OutboundHTTP

/// The push services that this program speaks to.
package struct PushServiceDirectory: PushServiceMaker {
    /// Something on this machine that answers for all push services.
    package struct Emulation: Sendable {
        /// In the place of the services' own: `https://127.0.0.1:PORT`.
        package let origin: String
        /// A PEM file with the authority that has signed its certificate.
        package let certificateAuthorities: String
        /// What it takes.
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
    ///   - browserHosts: Browsers' push services beside the well-known ones: exact host names.
    ///   - browserAddresses: Where those may be beside public addresses.
    ///   - tokens: Keeps APNs' provider tokens over a restart.
    ///   - userAgent: As RFC 9110 §10.1.5 has it.
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

    /// How long before its end an expiring credential is spoken of.
    package static let expiryNotice = Duration.seconds(30 * 86_400)

    package func service(for credential: PlatformCredential) throws(BadCredential) -> any PushService {
        switch credential.kind {
        case .apns: try ApnsService(credential, tokens, surroundings)
        case .fcmV1: try FcmService(credential, pace, surroundings)
        case .wns: try WnsService(credential, surroundings)
        case .browser: try WebPushService(credential, surroundings)
        case .mpns, .adm, .baidu: RetiredService(credential)
        default: throw BadCredential("nothing is delivered with a \(credential.kind.element)")
        }
    }

    package func audience(of credential: PlatformCredential) -> String? {
        guard credential.kind == .apns, credential["Token"]?.isEmpty ?? true,
            credential["ApnsCertificate"]?.isEmpty == false
        else { return credential.audience }
        return try? ApnsCredential(credential).audience
    }
}
