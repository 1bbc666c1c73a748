import Formats

/// A template as an installation carries it.
///
/// Source: protocol §4.2.
package struct InstallationTemplate: Sendable, Equatable, Codable {
    /// The text of the template; compile it with ``Template/init(parsing:)``.
    package var body: String
    /// Template expressions by header name; for `wns`, `mpns` and `apns`.
    package var headers: [String: String]
    /// A template expression, a date-time or `0`; for `apns`.
    package var expiry: String?
    /// In addition to the installation's own.
    package var tags: [Tag]

    package init(body: String, headers: [String: String] = [:], expiry: String? = nil, tags: [Tag] = []) {
        self.body = body
        self.headers = headers
        self.expiry = expiry
        self.tags = tags
    }

    /// Returns the template of this name as a member of an installation.
    ///
    /// A reply lists the name among the tags even if it is not a valid tag, as the service does.
    func json(named name: String, as direction: Installation.Direction) -> JSONText {
        let listed = direction == .reply && Tag(templateName: name) == nil ? [name] : []
        return [
            "body": JSONText(body), "headers": JSONText(sorted: headers).unlessEmpty, "expiry": JSONText(expiry),
            "tags": JSONText(strings: tags.map(\.text) + listed).unlessEmpty,
        ]
    }
}

/// A second live tile of a Windows app, with a channel, tags and templates of its own.
///
/// Source: protocol §4.2.
package struct SecondaryTile: Sendable, Equatable, Codable {
    package var pushChannel: PushChannel?
    package var pushChannelExpired = false
    package var tags: [Tag] = []
    package var templates: [String: InstallationTemplate] = [:]

    func json(as direction: Installation.Direction) -> JSONText {
        [
            "pushChannel": pushChannel?.json, "pushChannelExpired": JSONText(pushChannelExpired),
            "tags": JSONText(strings: tags.map(\.text)).unlessEmpty,
            "templates": Self.json(templates, as: direction).unlessEmpty,
        ]
    }

    static func json(_ templates: [String: InstallationTemplate], as direction: Installation.Direction) -> JSONText {
        JSONText(
            members: templates.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json(named: $0.key, as: direction)) }
        )
    }
}

extension Installation {
    /// The names of the secondary tiles, after `nil` for the installation's own channel.
    var tileNames: [String?] { [nil] + secondaryTiles.keys.map(Optional.some) }

    /// A secondary tile; for `nil`, the installation's own channel with its tags and templates.
    package subscript(tile name: String?) -> SecondaryTile? {
        get {
            if let name { return secondaryTiles[name] }
            return SecondaryTile(
                pushChannel: pushChannel,
                pushChannelExpired: pushChannelExpired,
                tags: tags,
                templates: templates
            )
        }
        set {
            if let name { return secondaryTiles[name] = newValue }
            let own = newValue ?? SecondaryTile()
            (pushChannel, pushChannelExpired) = (own.pushChannel, own.pushChannelExpired)
            (tags, templates) = (own.tags, own.templates)
        }
    }
}
