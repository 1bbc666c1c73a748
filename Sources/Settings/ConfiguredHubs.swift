package import HubProtocol

/// The hubs and access rules that the file declares in its sections `hubs:` and `namespace:`.
package struct ConfiguredHubs: Sendable, Equatable {
    package var hubs: [ConfiguredHub] = []
    /// The rules of the namespace.
    package var rules: [ConfiguredRule] = []

    package init() {}

    package var isEmpty: Bool { hubs.isEmpty && rules.isEmpty }
}

/// A hub that must exist.
package struct ConfiguredHub: Sendable, Equatable {
    package let name: HubName
    /// `nil` leaves the hub's value unchanged.
    package let registrationTimeToLive: Duration?
    package let rules: [ConfiguredRule]
    /// Credentials for push services; others stay as they are.
    package var credentials: [ConfiguredCredential] = []
    package var page = ConfiguredPage()
}

/// The appearance and the rules of a hub's pages; `nil` for what the configuration leaves out.
package struct ConfiguredPage: Sendable, Equatable {
    /// A setting with its place in the configuration.
    package struct Entry: Sendable, Equatable {
        package let text: String
        package let origin: SettingOrigin
    }

    package var title: Entry?
    package var description: Entry?
    /// The path of the picture; absolute, or relative to the working directory.
    package var logo: Entry?
    package var accent: Entry?
    /// True if pages show the pictures of news.
    package var images: Bool?
    /// True if an urgent message of the desk needs a second account.
    package var approvesUrgent: Bool?
}

/// A credential that a hub must have for one push service.
package struct ConfiguredCredential: Sendable, Equatable {
    package let kind: PlatformCredential.Kind
    /// The JSON file with the credential, in the form of ``ConfiguredRule/primaryKeyFile``.
    package let file: String
    /// The place of the credential in the configuration.
    package let origin: SettingOrigin
}

/// A rule that must exist with these keys.
package struct ConfiguredRule: Sendable, Equatable {
    package let name: String
    package let rights: AccessRights
    /// Files with the keys; absolute, or relative to the working directory.
    ///
    /// A path that begins with ``credentials`` is a credential of the unit.
    package let primaryKeyFile: String
    package let secondaryKeyFile: String?
    /// The place of the rule in the configuration.
    package let origin: SettingOrigin

    /// The directory that systemd fills with a unit's credentials.
    package static let credentials = "$CREDENTIALS_DIRECTORY/"
}
