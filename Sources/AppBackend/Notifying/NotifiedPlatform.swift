import HubProtocol

/// A platform on which users are notified, as `pns` in a query names it.
enum NotifiedPlatform: String, CaseIterable, Sendable {
    case apns, gcm, fcmv1, wns, browser, stream

    /// Knows the names in any case.
    init?(pns: String) {
        guard let platform = Self(rawValue: pns.lowercased()) else { return nil }
        self = platform
    }

    var platform: Platform {
        switch self {
        case .apns: .apns
        case .gcm: .gcm
        case .fcmv1: .fcmv1
        case .wns: .wns
        case .browser: .browser
        case .stream: .stream
        }
    }

    var format: MessageFormat { MessageFormat(of: platform) }

    /// Bytes of the largest notification; `nil` where the hub's own limit comes first.
    var maximumBytes: Int? { NotificationSize.limit(for: format) }
}

/// The platforms of one notification.
enum PlatformChoice: Sendable, Equatable {
    /// Those that the hub can deliver to.
    case all
    case only(NotifiedPlatform)
    case these([NotifiedPlatform])

    /// Reads `pns`.
    ///
    /// - Throws: 400 for a name that is not known.
    init(pns: String) throws(BackendRefusal) {
        if pns.lowercased() == "all" {
            self = .all
        } else if let platform = NotifiedPlatform(pns: pns) {
            self = .only(platform)
        } else {
            let known = NotifiedPlatform.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("The platform '\(pns.excerpt)' in 'pns' is not one of \(known), all.")
        }
    }

    var platforms: [NotifiedPlatform] {
        switch self {
        case .all: NotifiedPlatform.allCases
        case .only(let platform): [platform]
        case .these(let platforms): platforms
        }
    }
}
