/// The part of an installation that is one registration: its channel or a secondary tile's, native or with a template.
///
/// Source: protocol §4.3.
package struct InstallationPart: Sendable, Hashable {
    /// `nil` for the installation's own channel.
    package var tile: String?
    /// `nil` for the native registration.
    package var template: String?

    package init(tile: String? = nil, template: String? = nil) {
        self.tile = tile
        self.template = template
    }

    /// The native registration that every installation has.
    package static let main = InstallationPart()

    /// The part as a path of JSON Pointer's segments, empty for the main one; the form for stores.
    package var text: String {
        var segments: [String] = []
        if let tile { segments += ["secondaryTiles", tile] }
        if let template { segments += ["templates", template] }
        return segments.map { $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined(separator: "/")
    }
}

extension Installation {
    /// The registrations of this installation: native ones before templates, its own channel before tiles.
    package var parts: [InstallationPart] {
        var parts = [InstallationPart.main] + templates.keys.sorted().map { InstallationPart(template: $0) }
        for (name, tile) in secondaryTiles.sorted(by: { $0.key < $1.key }) {
            parts.append(InstallationPart(tile: name))
            parts += tile.templates.keys.sorted().map { InstallationPart(tile: name, template: $0) }
        }
        return parts
    }

    /// Returns the tags of a part: the server's own, the installation's or the tile's, the template's; each once.
    package func tags(of part: InstallationPart) -> [Tag] {
        let tile = part.tile.flatMap { secondaryTiles[$0] }
        let template = part.template.flatMap { tile.map(\.templates)?[$0] ?? (part.tile == nil ? templates[$0] : nil) }
        var seen: Set<Tag> = []
        return (serverAssignedTags + (part.tile == nil ? tags : tile?.tags ?? []) + (template?.tags ?? []))
            .filter { seen.insert($0).inserted }
    }

    /// Returns a part as a registration; `nil` if the part does not exist, or no channel is stored.
    package func registration(of part: InstallationPart, id: RegistrationID, etag: Int) -> Registration? {
        let tile = part.tile.flatMap { secondaryTiles[$0] }
        guard part.tile == nil || tile != nil, let channel = part.tile == nil ? pushChannel : tile?.pushChannel else {
            return nil
        }
        var registration = Registration(
            id: id,
            etag: etag,
            expirationTime: expirationTime,
            tags: tags(of: part),
            pushVariables: pushVariables,
            platform: platform,
            pushChannel: channel,
            secondaryTileName: part.tile
        )
        guard let name = part.template else { return registration }
        guard let template = part.tile == nil ? templates[name] : tile?.templates[name] else { return nil }
        registration.template = RegistrationTemplate(
            name: name,
            body: template.body,
            headers: template.headers,
            expiry: template.expiry
        )
        return registration
    }
}
