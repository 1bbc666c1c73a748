package import HubProtocol

/// The hubs and access rules that the file asks for: the sections `hubs:` and `namespace:`.
package struct ConfiguredHubs: Sendable, Equatable {
    package var hubs: [ConfiguredHub] = []
    /// The rules of the namespace.
    package var rules: [ConfiguredRule] = []

    package init() {}

    package var isEmpty: Bool { hubs.isEmpty && rules.isEmpty }
}

/// A hub that is to be there.
package struct ConfiguredHub: Sendable, Equatable {
    package let name: HubName
    /// `nil` leaves it as it is.
    package let registrationTimeToLive: Duration?
    package let rules: [ConfiguredRule]
    /// For push services; others stay as they are.
    package var credentials: [ConfiguredCredential] = []
}

/// A credential that a hub is to have for one push service.
package struct ConfiguredCredential: Sendable, Equatable {
    package let kind: PlatformCredential.Kind
    /// The JSON file that holds it, as ``ConfiguredRule/primaryKeyFile``.
    package let file: String
    /// Where it stands.
    package let origin: SettingOrigin
}

/// A rule that is to have these keys and no others.
package struct ConfiguredRule: Sendable, Equatable {
    package let name: String
    package let rights: AccessRights
    /// Files that hold the keys; absolute, or relative to the working directory.
    ///
    /// One that begins with ``credentials`` is a credential of the unit.
    package let primaryKeyFile: String
    package let secondaryKeyFile: String?
    /// Where it stands.
    package let origin: SettingOrigin

    /// The directory that systemd fills with a unit's credentials.
    package static let credentials = "$CREDENTIALS_DIRECTORY/"
}
