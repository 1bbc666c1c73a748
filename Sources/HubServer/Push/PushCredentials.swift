import HubProtocol
import PushServices

/// The credentials with which a hub delivers, by platform.
struct PushCredentials: Sendable, Equatable {
    private let credentials: [Platform: PlatformCredential]

    init(_ all: [PlatformCredential], _ configuration: HubConfiguration) {
        var credentials: [Platform: PlatformCredential] = [:]
        for credential in configuration.pushServices.standing + all
        where configuration.pushServices.kinds.contains(credential.kind) {
            guard let platform = credential.kind.platform else { continue }
            credentials[platform] = credential
        }
        credentials[.browser] = BrowserKeys.credential(
            of: configuration.pushServices.standing + all,
            contact: configuration.pushContact
        )
        if configuration.sendsGcmThroughFcm {
            credentials[.gcm] = credentials[.fcmv1]
        }
        self.credentials = credentials
    }

    var platforms: [Platform] { credentials.keys.sorted() }

    subscript(platform: Platform) -> PlatformCredential? { credentials[platform] }
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
