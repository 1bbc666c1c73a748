/// The description of a hub: its rules, its credentials for push services, the lifetime of registrations.
///
/// Source: protocol §8.
package struct NotificationHubDescription: Sendable, Equatable {
    /// Maximum length of ``userMetadata`` (protocol §3.8) in UTF-16 code units, as .NET counts.
    package static let maximumUserMetadata = 1_024
    /// Maximum size of a request's body in bytes: enough for certificates of every platform.
    package static let maximumBytes = 256 << 10

    package var registrationTimeToLive: RegistrationTimeToLive
    /// The credentials, at most one of each kind.
    package var credentials: [PlatformCredential]
    /// The rules; their names differ, ignoring case.
    package var rules: [AuthorizationRule]
    package var userMetadata: String?
    /// True if the hub is disabled and refuses registrations and messages; `nil` if it was never set.
    package var isDisabled: Bool?

    package init(
        registrationTimeToLive: RegistrationTimeToLive = .unlimited,
        credentials: [PlatformCredential] = [],
        rules: [AuthorizationRule] = [],
        userMetadata: String? = nil,
        isDisabled: Bool? = nil
    ) {
        self.registrationTimeToLive = registrationTimeToLive
        self.credentials = credentials
        self.rules = rules
        self.userMetadata = userMetadata
        self.isDisabled = isDisabled
    }

    /// Adds a credential, or replaces the one of the same kind.
    ///
    /// - Returns: False if it is unchanged.
    package mutating func set(_ credential: PlatformCredential) -> Bool {
        guard let place = credentials.firstIndex(where: { $0.kind == credential.kind }) else {
            credentials.append(credential)
            return true
        }
        let new = credential.kind == .browser ? credential.keepingSecrets(of: credentials[place]) : credential
        guard credentials[place] != new else { return false }
        credentials[place] = new
        return true
    }

    package subscript(kind: PlatformCredential.Kind) -> PlatformCredential? {
        credentials.first { $0.kind == kind }
    }

    /// The description in the order that .NET reads: an element in another place would be lost.
    package var xml: String {
        var known: Set<PlatformCredential.Kind> = [.ownBrowserKeys]
        func credential(_ kind: PlatformCredential.Kind) -> String {
            known.insert(kind)
            return self[kind]?.xml ?? ""
        }
        var parts = [
            credential(.apns), "<RegistrationTtl>\(registrationTimeToLive.text)</RegistrationTtl>", credential(.wns),
        ]
        if !rules.isEmpty {
            parts.append("<AuthorizationRules>\(rules.map(\.xml).joined())</AuthorizationRules>")
        }
        parts += [credential(.gcm), credential(.mpns)]
        if let userMetadata { parts.append("<UserMetadata>\(XMLText.escaped(userMetadata))</UserMetadata>") }
        parts += [credential(.adm), credential(.baidu)]
        if let isDisabled { parts.append("<Status>\(isDisabled)</Status>") }
        parts += [credential(.fcmV1), credential(.browser)]
        parts += credentials.filter { !known.contains($0.kind) }.map(\.xml)
        return "<NotificationHubDescription xmlns=\"\(AtomNames.serviceBus)\""
            + " xmlns:i=\"\(AtomNames.instance)\">\(parts.joined())</NotificationHubDescription>"
    }

    /// Returns the hub's entry; `root` ends without a slash, and `query` is the request's, with its question mark.
    package func entry(
        of name: HubName,
        root: String,
        query: String,
        namespace: String,
        createdAt: Timestamp,
        updatedAt: Timestamp
    ) -> ManagementEntry {
        ManagementEntry(
            address: "\(root)/\(name)\(query)",
            title: name.text,
            publishedAt: createdAt,
            updatedAt: updatedAt,
            author: namespace,
            content: xml
        )
    }
}
