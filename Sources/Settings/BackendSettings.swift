package import HubProtocol
package import NetworkAddresses

/// Settings of an app backend that runs alone; its state is stored where a hub's would be.
package enum BackendSettings {
    package static let listen = Setting(.backend, "listen", .address, "127.0.0.1")
        .summary("The address to listen on.")
    package static let port = Setting(.backend, "port", .wholeNumber(0...65_535), 8_788)
        .summary("The port; 0 picks a free one.")
    package static let insecureListen = Setting(.backend, "insecure-listen", .flag, false)
        .summary(
            "Accept plain HTTP from other machines, too: passwords can be read on the network, and payloads cannot be fetched."
        )
    package static let hostNames = OpenSetting(.backend, "host-names", .hostNames)
        .summary(
            "Names by which apps reach the app backend, and for which its certificate is valid. Without it: localhost and this machine's names."
        )
    package static let publicAddress = OpenSetting(.backend, "public-address", .publicAddress)
        .summary(
            "The address at which apps reach the app backend if it is not the first of 'host-names' at its own port: that of a proxy."
        )
    package static let tlsCertificate = OpenSetting(.backend, "tls-certificate", .path)
        .summary(
            "A certificate and its chain in PEM, instead of one from the app backend's own authority. Read again when it changes."
        )
    package static let tlsKey = OpenSetting(.backend, "tls-key", .keyFile)
        .summary("The key of 'tls-certificate' in PEM.")
    package static let trustedProxies = OpenSetting(.backend, "trusted-proxies", .addressBlocks)
        .summary(
            "Proxies whose X-Forwarded-For, -Host and -Proto headers are trusted, and balancers whose headers of the PROXY protocol are. Without it: none."
        )
    package static let connection = ConnectionSettings(.backend)
    package static let reservedTagPrefixes = Setting(.backend, "reserved-tag-prefixes", .tagPrefixes, .standard)
        .summary("Prefixes of tags that users cannot choose for their devices; the hub should reserve the same ones.")
    package static let maximumTags =
        Setting(.backend, "maximum-tags", .wholeNumber(2...4_000), Installation.maximumTags)
        .summary("Maximum number of tags that the hub accepts for a device, including the user's own.")
    package static let notifications = Setting(.backend, "notifications", .word, NotificationKind.plain)
        .summary(
            "What 'POST /api/notifications' with 'pns' sends: the text (plain), or the id of a text that the app fetches (secure)."
        )
    package static let secureText =
        Setting(.backend, "secure-text", .text, "This is a secure notification!")
        .summary("The payload of a secure push that is sent without one.")
    package static let secureAlert = OpenSetting(.backend, "secure-alert", .text)
        .summary(
            "A text that Apple devices show for a secure push. Without it the push is silent, and iOS drops it if the user has force-quit the app."
        )
    package static let secureNotice =
        Setting(.backend, "secure-notice", .text, "You have a new secure notification.")
        .summary("The text that browsers show for a secure push.")
    package static let drain = Setting(.backend, "drain", .time(.seconds(0) ... .seconds(300)), .seconds(10))
        .summary("Maximum time that a stop waits for work in progress.")
    package static let logLevel =
        Setting(.backend, "log-level", .word, LogLevel.notice, sharedVariable: SharedVariable.logLevel)
        .summary("The lowest level that is logged.")

    static let entries =
        [
            listen.entry, port.entry, insecureListen.entry, hostNames.entry, publicAddress.entry,
            tlsCertificate.entry, tlsKey.entry, trustedProxies.entry,
        ] + connection.entries
        + [
            reservedTagPrefixes.entry, maximumTags.entry, notifications.entry, secureText.entry, secureAlert.entry,
            secureNotice.entry,
        ] + identityEntries + [drain.entry, logLevel.entry]
}

/// The way in which users are notified by name.
package enum NotificationKind: String, Sendable, CaseIterable {
    /// The text passes through the push services.
    case plain
    /// An id passes through them, and the app fetches the text from the app backend.
    case secure
}
