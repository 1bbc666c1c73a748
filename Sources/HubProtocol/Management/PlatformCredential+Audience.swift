extension PlatformCredential.Kind {
    var definition: PlatformDefinition? { PlatformDefinition.byCredential[self] }

    /// The platform whose registrations the credential reaches; `nil` for a kind that this version does not know.
    package var platform: Platform? { definition?.platform }

    /// The kinds of the push services to which this version delivers, by their names in files of settings.
    package static let configurable = Dictionary(
        uniqueKeysWithValues: PlatformDefinition.all.compactMap { definition in
            definition.credential?.settingsName.map { ($0, definition.credentialKind) }
        }
    )
}

extension PlatformCredential {
    /// The app, project or team whose handles the credential reaches.
    ///
    /// Waiting messages are not sent with a credential of another audience, for which their handles mean nothing. `nil`
    /// if the properties do not name it, as with a certificate, whose audience `PushServiceMaker` finds.
    package var audience: String? {
        if kind == .apns { return apnsAudience }
        let sets = kind.definition?.credential?.audience ?? []
        guard let names = sets.first(where: { self[$0[0]] != nil }) ?? sets.last else { return nil }
        let values = names.map { self[$0]?.lowercased() ?? "" }
        return values[0].isEmpty ? nil : values.joined(separator: " ")
    }

    private var apnsAudience: String? {
        guard let team = self["AppId"], !team.isEmpty else { return nil }
        let endpoint = self["Endpoint"]?.lowercased() ?? ""
        let isSandbox = ["sandbox", "development"].contains(where: endpoint.contains)
        return Self.apnsAudience(team: team, bundle: self["AppName"] ?? "", isSandbox: isSandbox)
    }

    /// The audience of a credential for APNs; `team` is empty where a certificate does not name it.
    package static func apnsAudience(team: String, bundle: String, isSandbox: Bool) -> String {
        [team.lowercased(), bundle.lowercased(), isSandbox ? "sandbox" : ""].joined(separator: " ")
    }

    /// True if two audiences are the same, or differ only in a team that one of them does not know.
    package static func isSameAudience(_ one: String, _ other: String) -> Bool {
        guard one != other else { return true }
        let (one, other) = (one.split(at: " "), other.split(at: " "))
        return one.rest == other.rest && (one.first.isEmpty || other.first.isEmpty)
    }
}

extension String {
    /// The text before the first `separator`, and all that follows.
    fileprivate func split(at separator: Character) -> (first: Substring, rest: Substring) {
        let first = prefix { $0 != separator }
        return (first, self[first.endIndex...])
    }
}
