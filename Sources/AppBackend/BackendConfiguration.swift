package import HubProtocol
package import NIOCore
package import NetworkAddresses
package import Settings

/// The configuration of an app backend; every value is fixed before the start.
package struct BackendConfiguration: Sendable {
    /// Tag prefixes that users cannot choose: those that the hub reserves.
    package var reservedTags: ReservedTagPrefixes
    /// The largest number of tags of a device at the hub, including the user's own.
    package var maximumTags: Int
    /// `secure` sends the id of a text instead of each text, as the server of the tutorial on secure push does.
    package var notifications: NotificationKind
    /// The text of a secure push without a body, as in the tutorial.
    package var secureText: String
    /// The alert that Apple devices show for a secure push.
    ///
    /// `nil` means a silent push, which iOS drops if the user has force-quit the app.
    package var secureAlert: String?
    /// The notification that browsers show for a secure push.
    package var secureNotice: String
    /// A function that is called with the connection of each request whose user has signed in.
    package var onSignedIn: @Sendable (any Channel) -> Void = { _ in }
    /// Proxies whose `X-Forwarded-…` headers are trusted.
    package var trustedProxies: TrustedProxies
    /// Additional lines of `/metrics`, such as those of the process.
    package var serverMetrics: @Sendable () -> String = { "" }
    /// False while another node of a hub deletes outdated data, and devices of removed users.
    package var isKeeper: @Sendable () -> Bool = { true }
    /// The largest age of the figures from the database in `/metrics`.
    var figureInterval = Duration.seconds(1)
    /// Roles whose users may notify others.
    package var mayNotifyRoles: Set<Role> = []
    /// The identity provider whose tokens are accepted; `nil` for none.
    package var provider: OpenIDConfiguration?
    /// The proxies that name users in a header; `nil` for none.
    package var proxyUsers: ProxyUsers?
    var payloadBounds = PayloadBounds()
    package var clock = BackendClock.system
    package var hasher = PasswordHasher()

    /// Reads the settings of an app backend, except those of users whom another party signs in.
    package init(_ settings: Settings = .defaults) {
        trustedProxies = TrustedProxies(settings.value(BackendSettings.trustedProxies) ?? [])
        reservedTags = settings.value(BackendSettings.reservedTagPrefixes)
        maximumTags = settings.value(BackendSettings.maximumTags)
        notifications = settings.value(BackendSettings.notifications)
        secureText = settings.value(BackendSettings.secureText)
        secureAlert = settings.value(BackendSettings.secureAlert)
        secureNotice = settings.value(BackendSettings.secureNotice)
    }
}
