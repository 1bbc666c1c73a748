import HubProtocol

/// A platform on which users are notified, with its name in the query parameter `pns`.
enum NotifiedPlatform: String, CaseIterable, Sendable {
    case apns, gcm, fcmv1, wns, browser, stream

    /// Creates a platform from its name, ignoring case.
    init?(pns: String) { self.init(rawValue: pns.lowercased()) }

    var platform: Platform { Platform(rawValue: rawValue) }

    var format: MessageFormat { MessageFormat(of: platform) }

    /// The largest notification, in bytes; `nil` if the hub's own limit is smaller.
    var maximumBytes: Int? { NotificationSize.limit(for: format) }
}

/// The platforms of one notification.
enum PlatformChoice: Sendable, Equatable {
    /// All platforms that the hub can deliver to.
    case all
    case these([NotifiedPlatform])

    /// Reads the parameter `pns`.
    ///
    /// - Throws: 400 for an unknown name.
    init(pns: String) throws(BackendRefusal) {
        if pns.lowercased() == "all" {
            self = .all
        } else if let platform = NotifiedPlatform(pns: pns) {
            self = .these([platform])
        } else {
            let known = NotifiedPlatform.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("The platform '\(pns.excerpt)' in 'pns' is not one of \(known), all.")
        }
    }

    var platforms: [NotifiedPlatform] {
        switch self {
        case .all: NotifiedPlatform.allCases
        case .these(let platforms): platforms
        }
    }
}
