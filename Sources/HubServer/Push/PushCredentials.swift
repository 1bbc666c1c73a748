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

    var isEmpty: Bool { credentials.isEmpty }
    var platforms: [String] { credentials.keys.sorted() }

    /// `platform` in lower case.
    subscript(platform: String) -> PlatformCredential? { credentials[platform] }
}
