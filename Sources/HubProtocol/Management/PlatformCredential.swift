/// A hub's credential for one platform's push service: named properties, some of them secret.
///
/// Kinds and names that this version does not know are stored and returned.
package struct PlatformCredential: Sendable, Equatable, Codable {
    /// The name of its element.
    package struct Kind: Sendable, Hashable, Codable {
        package let element: String

        package init(element: String) { self.element = element }

        package static let apns = Kind(element: "ApnsCredential")
        package static let wns = Kind(element: "WnsCredential")
        package static let gcm = Kind(element: "GcmCredential")
        package static let mpns = Kind(element: "MpnsCredential")
        package static let adm = Kind(element: "AdmCredential")
        package static let baidu = Kind(element: "BaiduCredential")
        package static let fcmV1 = Kind(element: "FcmV1Credential")
        package static let browser = Kind(element: "BrowserCredential")
        /// Keys for browsers that the hub has generated; clients neither see nor set them.
        package static let ownBrowserKeys = Kind(element: "OwnBrowserKeys")
    }

    package struct Property: Sendable, Equatable, Codable {
        package let name: String
        /// May be a secret.
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package let kind: Kind
    /// In the client's order, no two of the same name.
    package let properties: [Property]

    package init(_ kind: Kind, _ properties: [Property]) {
        self.kind = kind
        self.properties = properties
    }

    /// The value of a property, its name in any case.
    package subscript(name: String) -> String? {
        properties.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

// MARK: - Changes

extension PlatformCredential {
    private var definition: CredentialDefinition? { kind.definition?.credential }

    /// True for a property that SDKs do not know, and so cannot send back.
    private func isOurs(_ property: Property) -> Bool {
        definition?.sdkNames.contains(property.name.lowercased()) == false
    }

    /// The stored properties that an SDK has not seen, unless what it sends replaces what they belong to.
    private func unseen(of stored: PlatformCredential) -> [Property] {
        let isReplaced =
            switch kind {
            // The id is the key's.
            case .fcmV1: self["PrivateKey"].map { $0 != stored["PrivateKey"] } ?? false
            // An app of the Microsoft Store has no tenant.
            case .wns: self["PackageSid"]?.lowercased().hasPrefix("ms-app:") ?? false
            default: false
            }
        return isReplaced ? [] : stored.properties.filter { isOurs($0) && self[$0.name] == nil }
    }

    /// The result of replacing a stored credential with this one.
    ///
    /// Omitted secrets are kept, and so are properties that SDKs do not know. A credential without properties changes
    /// nothing.
    func keepingSecrets(of stored: PlatformCredential?) -> PlatformCredential {
        guard let stored else { return self }
        guard !properties.isEmpty else { return stored }
        let sent = PlatformCredential(kind, properties.map { $0.spelled(as: stored[$0.name]) })
        let unseen = sent.unseen(of: stored).filter { $0.name != Self.formerVapidKeys }
        return PlatformCredential(kind, sent.properties + unseen).keepingOmittedSecrets(of: stored)
    }

    private func keepingOmittedSecrets(of stored: PlatformCredential) -> PlatformCredential {
        if kind == .browser { return keepingFormerKeys(of: stored) }
        let given = Set(properties.map { $0.name.lowercased() })
        let sets = (definition?.secrets ?? []).map { Set($0.map { $0.lowercased() }) }
        // A client that sends a token does not want to keep the certificate.
        let meant = sets.filter { !$0.isDisjoint(with: given) }
        let kept = (meant.isEmpty ? sets : meant).reduce(into: Set<String>()) { $0.formUnion($1) }.subtracting(given)
        return PlatformCredential(kind, properties + stored.properties.filter { kept.contains($0.name.lowercased()) })
    }

    /// The credential with the VAPID keys of the one that it replaces, for browsers that have subscribed with those.
    package func keepingFormerKeys(of stored: PlatformCredential?) -> PlatformCredential {
        guard let stored else { return self }
        guard let new = self[Self.vapidKey] else {
            let given = Set(properties.map { $0.name.lowercased() })
            let kept = stored.properties.filter { !given.contains($0.name.lowercased()) }
            return PlatformCredential(kind, properties + kept)
        }
        guard self[Self.formerVapidKeys] == nil else { return self }
        let former = stored.allVapidKeys.filter { $0 != new }.prefix(Self.maximumFormerKeys)
        // An earlier version has stored an empty list.
        guard !former.isEmpty || stored[Self.formerVapidKeys] != nil else { return self }
        return PlatformCredential(
            kind,
            properties + [Property(name: Self.formerVapidKeys, value: former.joined(separator: " "))]
        )
    }

    private static let vapidKey = "VapidPrivateKey"
    package static let formerVapidKeys = "FormerVapidPrivateKeys"

    /// The private VAPID keys, base64url, the current one first.
    package var allVapidKeys: [String] {
        let former = (self[Self.formerVapidKeys] ?? "").split(separator: " ").map(String.init)
        return (self[Self.vapidKey].map { [$0] } ?? []) + former
    }

    /// True if another credential has the same properties, in whatever order.
    func hasSameProperties(as other: PlatformCredential?) -> Bool {
        func values(_ credential: PlatformCredential) -> [String: String] {
            Dictionary(credential.properties.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        }
        return other.map { values($0) == values(self) } ?? false
    }

    /// - Throws: ``ProtocolError`` 400 with the missing properties.
    package func validate() throws(ProtocolError) {
        let sets = definition?.required ?? []
        guard !sets.isEmpty else { return }
        let missing = sets.map { set in set.filter { self[$0] == nil } }
        guard missing.allSatisfy({ !$0.isEmpty }) else { return }
        // The set of which some properties are given, if there is one.
        let begun = zip(sets, missing).first { $0.count > $1.count }?.1 ?? missing[0]
        let ways = sets.map { $0.joined(separator: ", ") }.joined(separator: "; or ")
        throw .badRequest("\(kind.element) lacks \(begun.joined(separator: ", ")); it needs \(ways).")
    }
}

extension PlatformCredential.Property {
    /// The property with its stored value, if the two differ in blanks at their ends at most: the Java SDK trims what it
    /// reads, such as the last newline of a key in PEM.
    fileprivate func spelled(as stored: String?) -> Self {
        guard let stored, Self.trimmed(stored) == Self.trimmed(value) else { return self }
        return Self(name: name, value: stored)
    }

    /// Source: Java's `String.trim`.
    private static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars.drop { $0.value <= 0x20 }
        let end = scalars.lastIndex { $0.value > 0x20 }
        return String(end.map { scalars[...$0] } ?? scalars)
    }
}

extension PlatformCredential.Kind {
    /// True for a kind of which a credential without properties means none; MPNS and unknown kinds can do without.
    var needsProperties: Bool { definition?.credential?.required.isEmpty == false }
}

// MARK: - XML

extension PlatformCredential {
    /// Maximum number of kinds of one hub, known or not: the service has eight, and each change of the hub checks all.
    static let maximumKinds = 16
    static let maximumProperties = 32
    /// Maximum number of replaced VAPID keys that are kept.
    static let maximumFormerKeys = 8
    /// Maximum length of a property's name in characters.
    static let maximumName = 128
    /// Maximum size of a property's value in bytes; a certificate with its chain has a few thousand.
    static let maximumValue = 64 << 10

    /// The element in a hub's description, with the properties that SDKs know.
    var xml: String {
        let properties = properties.filter { !isOurs($0) }.map { property in
            "<Property><Name>\(XMLText.escaped(property.name))</Name>"
                + "<Value>\(XMLText.escaped(property.value))</Value></Property>"
        }
        return "<\(kind.element)><Properties>\(properties.joined())</Properties></\(kind.element)>"
    }
}
