package import HubProtocol
package import NetworkAddresses

/// How an app backend runs; every value is decided before the start.
package struct BackendConfiguration: Sendable {
    /// Beginnings of tags that users must not choose; those that the hub in front reserves.
    package var reservedTags = ReservedTagPrefixes.standard
    /// Tags that the hub lets a device have, the user's own included.
    package var maximumTags = Installation.maximumTags
    /// Proxies whose `X-Forwarded-…` are believed.
    package var trustedProxies = TrustedProxies([])
    package var clock = BackendClock.system
    package var hasher = PasswordHasher()

    package init() {}
}
