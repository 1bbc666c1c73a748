package import HubProtocol
package import NIOCore
package import NetworkAddresses

/// How an app backend runs; every value is decided before the start.
package struct BackendConfiguration: Sendable {
    /// Beginnings of tags that users must not choose; those that the hub in front reserves.
    package var reservedTags = ReservedTagPrefixes.standard
    /// Tags that the hub lets a device have, the user's own included.
    package var maximumTags = Installation.maximumTags
    /// What a secure push without a body delivers, as in the tutorial.
    package var secureText = "This is a secure notification!"
    /// What Apple devices show for a secure push; `nil` for a silent push, which iOS drops after the app was ended by force.
    package var secureAlert: String?
    /// What browsers show for a secure push.
    package var secureNotice = "You have a new secure notification."
    /// Called with the connection of each request whose user has signed in.
    package var onSignedIn: @Sendable (any Channel) -> Void = { _ in }
    /// Proxies whose `X-Forwarded-…` are believed.
    package var trustedProxies = TrustedProxies([])
    /// Lines that `/metrics` has beside the app backend's own, such as those of the process.
    package var serverMetrics: @Sendable () -> String = { "" }
    /// The age up to which figures of the database are shown.
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

    package init() {}
}
