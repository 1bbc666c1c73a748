package import HubProtocol

/// A push service that the emulator answers for.
package enum EmulatedService: String, Sendable, CaseIterable {
    case apns
    case fcm
    case wns
    case webPush

    /// The platform of the registrations that the service reaches.
    package var platform: Platform {
        switch self {
        case .apns: .apns
        case .fcm: .fcmv1
        case .wns: .wns
        case .webPush: .browser
        }
    }
}
