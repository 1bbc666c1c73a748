import Markup

/// A client's description of a hub that it creates or updates.
///
/// Clients read a description, change it and send the whole of it back. However, Java omits rules, metadata and times,
/// and .NET sends an empty list of rules after its caller has only read it. Therefore omitted parts, and an empty list
/// of rules, leave the hub as it is. A credential is removed if it is sent as `i:nil`, or with an empty `Properties`.
package struct NotificationHubChange: Sendable, Equatable {
    /// A rule as it was sent; omitted parts are kept or generated.
    struct Rule: Sendable, Equatable {
        let name: String
        var primaryKey: String?
        var secondaryKey: String?
        var rights: AccessRights?
    }

    enum CredentialChange: Sendable, Equatable {
        case put(PlatformCredential)
        case remove(PlatformCredential.Kind)

        var kind: PlatformCredential.Kind {
            switch self {
            case .put(let credential): credential.kind
            case .remove(let kind): kind
            }
        }
    }

    var registrationTimeToLive: RegistrationTimeToLive?
    var credentials: [CredentialChange] = []
    /// The rules; `nil` if the description does not mention them.
    var rules: [Rule]?
    /// The metadata; empty to remove it.
    var userMetadata: String?
    var isDisabled: Bool?

    /// Creates an empty change: a new hub gets all defaults.
    package init() {}

    /// Creates a change of the time to live alone.
    package init(registrationTimeToLive: RegistrationTimeToLive?) {
        self.registrationTimeToLive = registrationTimeToLive
    }
}

// MARK: - Reading

extension NotificationHubChange {
    /// Reads a request's body; elements may be in any order, and unknown ones are ignored.
    ///
    /// - Throws: ``ProtocolError`` 400 with the problem and its element.
    package init(xml body: [UInt8]) throws(ProtocolError) {
        try self.init(ManagementDocument.description(named: "NotificationHubDescription", in: body))
    }

    init(_ description: XMLElement) throws(ProtocolError) {
        for element in description.children {
            switch element.name {
            case "RegistrationTtl":
                registrationTimeToLive = try element.value.map { text throws(ProtocolError) in
                    try RegistrationTimeToLive(parsing: text)
                }
            case "AuthorizationRules": rules = try Self.rules(element)
            case "UserMetadata":
                let text = element.isNil ? "" : element.text
                guard text.utf16.count <= NotificationHubDescription.maximumUserMetadata else {
                    throw .badRequest(
                        "UserMetadata is longer than \(NotificationHubDescription.maximumUserMetadata) characters."
                    )
                }
                userMetadata = text
            case "Status":
                guard let text = element.value?.lowercased() else { continue }
                guard ["true", "1", "false", "0"].contains(text) else {
                    throw .badRequest("Status '\(text.excerpt)' is neither true, for a disabled hub, nor false.")
                }
                isDisabled = text == "true" || text == "1"
            // A name with a prefix is not in the service's namespaces, and a reply would not declare the prefix.
            case let name
            where name.hasSuffix("Credential") && !name.contains(":")
                && name.utf8.count <= PlatformCredential.maximumName:
                guard credentials.count < PlatformCredential.maximumKinds else { throw Self.tooManyKinds }
                let change = try Self.credential(element)
                guard !credentials.contains(where: { $0.kind == change.kind }) else {
                    throw .badRequest("\(name) appears twice.")
                }
                credentials.append(change)
            default: continue
            }
        }
    }

    private static var tooManyKinds: ProtocolError {
        .badRequest("A hub has credentials of at most \(PlatformCredential.maximumKinds) kinds.")
    }

    private static func credential(_ element: XMLElement) throws(ProtocolError) -> CredentialChange {
        let kind = PlatformCredential.Kind(element: element.name)
        let sent = element.first("Properties")
        guard !element.isNil else { return .remove(kind) }
        if let sent, sent.first("Property") == nil, kind.needsProperties { return .remove(kind) }
        var properties: [PlatformCredential.Property] = []
        for property in sent?.children ?? element.children where property.name == "Property" {
            guard let name = property.first("Name")?.value else {
                throw .badRequest("A property of \(kind.element) has no Name.")
            }
            // The Java client writes the word null for an unknown value.
            guard let value = property.first("Value")?.untrimmedValue, value != "null" else { continue }
            guard name.unicodeScalars.count <= PlatformCredential.maximumName,
                value.utf8.count <= PlatformCredential.maximumValue,
                properties.count < PlatformCredential.maximumProperties
            else { throw .badRequest("\(kind.element) is too large.") }
            guard !properties.contains(where: { $0.name.lowercased() == name.lowercased() }) else {
                throw .badRequest("\(kind.element) has the property '\(name.excerpt)' twice.")
            }
            properties.append(PlatformCredential.Property(name: name, value: value))
        }
        return .put(PlatformCredential(kind, properties))
    }

    private static func rules(_ element: XMLElement) throws(ProtocolError) -> [Rule]? {
        var rules: [Rule] = []
        for element in element.children where element.name == "AuthorizationRule" {
            let type = element.attribute("i:type")?.split(separator: ":").last
            guard type == nil || type == "SharedAccessAuthorizationRule" else {
                throw .badRequest("A rule of type '\(String(type ?? "").excerpt)' is not supported.")
            }
            rules.append(try rule(element))
        }
        guard rules.count <= AuthorizationRule.maximumCount else {
            throw .badRequest("A hub has at most \(AuthorizationRule.maximumCount) rules.")
        }
        let names = Set(rules.map { $0.name.lowercased() })
        guard names.count == rules.count else { throw .badRequest("Two rules have the same name.") }
        return rules.isEmpty ? nil : rules
    }

    private static func rule(_ element: XMLElement) throws(ProtocolError) -> Rule {
        guard let name = element.first("KeyName")?.value else { throw .badRequest("A rule has no KeyName.") }
        try AccessRule.checkName(name)
        var rule = Rule(name: name)
        rule.primaryKey = element.first("PrimaryKey")?.value
        rule.secondaryKey = element.first("SecondaryKey")?.value
        for key in [rule.primaryKey, rule.secondaryKey] {
            if let key { try AccessRule.checkKey(key, of: name) }
        }
        guard let rights = element.first("Rights"), !rights.isNil else { return rule }
        var granted: AccessRights = []
        for right in rights.children where right.name == "AccessRights" {
            let text = right.value ?? ""
            guard let known = AccessRights(name: text) else {
                throw .badRequest("Rule '\(name)' grants '\(text.excerpt)', which is not one of Listen, Manage, Send.")
            }
            granted.formUnion(known)
        }
        try AccessRule.checkRights(granted, of: name)
        rule.rights = granted
        return rule
    }
}

// MARK: - Applying

extension NotificationHubChange {
    /// Compares a hub's credentials after this change with those that it has now.
    ///
    /// - Parameter stored: The hub's credentials now.
    /// - Returns: New and changed credentials.
    package func newCredentials(besides stored: [PlatformCredential]) -> [PlatformCredential] {
        credentials.compactMap { change in
            guard case .put(let sent) = change else { return nil }
            let former = stored.first { $0.kind == sent.kind }
            let credential = sent.keepingSecrets(of: former)
            return credential.hasSameProperties(as: former) ? nil : credential
        }
    }

    /// Returns the hub after this change, or the new hub if none is stored.
    ///
    /// A new hub always has the two standard rules (protocol §1.1).
    ///
    /// - Throws: ``ProtocolError`` 400 for an incomplete credential or rule, and for too many of them.
    package func applied(
        to stored: NotificationHubDescription?,
        at now: Timestamp
    ) throws(ProtocolError) -> NotificationHubDescription {
        var hub = stored ?? NotificationHubDescription()
        if let registrationTimeToLive { hub.registrationTimeToLive = registrationTimeToLive }
        if let userMetadata { hub.userMetadata = userMetadata.isEmpty ? nil : userMetadata }
        if let isDisabled { hub.isDisabled = isDisabled }
        for change in credentials {
            let place = hub.credentials.firstIndex { $0.kind == change.kind }
            switch change {
            case .remove: hub.credentials.removeAll { $0.kind == change.kind }
            case .put(let sent):
                let credential = sent.keepingSecrets(of: place.map { hub.credentials[$0] })
                try credential.validate()
                if let place {
                    hub.credentials[place] = credential
                } else {
                    guard hub.credentials.count < PlatformCredential.maximumKinds else { throw Self.tooManyKinds }
                    hub.credentials.append(credential)
                }
            }
        }
        if let rules {
            var known: [AuthorizationRule] = []
            for rule in rules { known.append(try rule.applied(to: hub.rules, at: now)) }
            hub.rules = known
        }
        guard stored == nil else { return hub }
        let missing = AccessRule.standardRules().filter { rule in
            !hub.rules.contains { $0.rule.name.lowercased() == rule.name.lowercased() }
        }
        hub.rules = missing.map { AuthorizationRule($0, createdAt: now, modifiedAt: now) } + hub.rules
        // A client that reads a hub with more rules could not send it back.
        guard hub.rules.count <= AuthorizationRule.maximumCount else {
            throw .badRequest(
                "A hub has at most \(AuthorizationRule.maximumCount) rules; with the two standard ones there are "
                    + "\(hub.rules.count)."
            )
        }
        return hub
    }
}

extension NotificationHubChange.Rule {
    fileprivate func applied(
        to stored: [AuthorizationRule],
        at now: Timestamp
    ) throws(ProtocolError) -> AuthorizationRule {
        let former = stored.first { $0.rule.name == name }
        guard let rights = rights ?? former?.rule.rights else { throw .badRequest("Rule '\(name)' has no rights.") }
        let rule = AccessRule(
            name: name,
            primaryKey: primaryKey ?? former?.rule.primaryKey ?? AccessRule.generatedKey(),
            secondaryKey: secondaryKey ?? former?.rule.secondaryKey ?? AccessRule.generatedKey(),
            rights: rights
        )
        let isSame = former?.rule == rule
        return AuthorizationRule(
            rule,
            createdAt: former?.createdAt ?? now,
            modifiedAt: isSame ? former?.modifiedAt ?? now : now
        )
    }
}

extension AccessRule {
    /// Returns the rules of a new hub: Listen for devices, all rights for back ends and operators.
    package static func standardRules() -> [AccessRule] {
        [
            .generated(name: defaultListenName, rights: .listen),
            .generated(name: defaultFullName, rights: [.listen, .manage, .send]),
        ]
    }
}
