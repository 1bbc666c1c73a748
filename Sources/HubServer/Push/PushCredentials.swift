import HubProtocol
import PushServices

/// The credentials with which a hub delivers, by platform.
struct PushCredentials: Sendable, Equatable {
    private let credentials: [String: PlatformCredential]

    init(_ all: [PlatformCredential], _ configuration: HubConfiguration) {
        var credentials: [String: PlatformCredential] = [:]
        for credential in configuration.pushServices.standing + all
        where configuration.pushServices.kinds.contains(credential.kind) {
            guard let platform = credential.kind.platform else { continue }
            credentials[platform.rawValue] = credential
        }
        credentials[Platform.browser.rawValue] = BrowserKeys.credential(
            of: configuration.pushServices.standing + all,
            contact: configuration.pushContact
        )
        if configuration.sendsGcmThroughFcm {
            credentials[Platform.gcm.rawValue] = credentials[Platform.fcmv1.rawValue]
        }
        self.credentials = credentials
    }

    var platforms: [String] { credentials.keys.sorted() }

    /// `platform` in lower case.
    subscript(platform: String) -> PlatformCredential? { credentials[platform] }
}

extension PushRefusal {
    /// Platforms with registrations to which the hub does not deliver.
    private static let retired: Set<Platform> = [.mpns, .adm, .baidu, .xiaomi]

    /// The reason why a message that came without a credential for its platform is not sent.
    init(noCredentialFor platform: Platform, _ message: Message, _ configuration: HubConfiguration) {
        if let limit = NotificationSize.exceeded(by: message.body, message.format, message.headers) {
            self.init(
                outcome: .invalidNotificationSize,
                reason: "the body has \(message.body.count) bytes, and platform '\(platform)' accepts at most \(limit)"
            )
        } else if Self.retired.contains(platform) {
            self.init(outcome: .abandoned, reason: "this hub does not deliver to platform '\(platform)'")
        } else if platform == .gcm, !configuration.sendsGcmThroughFcm {
            self.init(
                outcome: .abandoned,
                reason: "Google has retired GCM, and this hub does not send its messages through FCM"
            )
        } else {
            self.init(
                outcome: .abandoned,
                reason: "this hub had no credential for platform '\(platform)' when the message came"
            )
        }
    }
}
