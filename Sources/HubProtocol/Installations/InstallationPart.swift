import Formats

/// The part of an installation that is one registration: its channel or a secondary tile's, native or with a template.
///
/// Source: protocol §4.3.
package struct InstallationPart: Sendable, Hashable {
    /// `nil` for the installation's own channel.
    package var tile: String?
    /// `nil` for the native registration.
    package var template: String?

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
        let target = self[tile: part.tile]
        let template = part.template.flatMap { target?.templates[$0] }
        return (serverAssignedTags + (target?.tags ?? []) + (template?.tags ?? [])).distinct()
    }

    /// Returns a part as a registration; `nil` if the part does not exist, or no channel is stored.
    package func registration(of part: InstallationPart, id: RegistrationID, etag: Int) -> Registration? {
        guard let target = self[tile: part.tile], let channel = target.pushChannel else { return nil }
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
        guard let template = target.templates[name] else { return nil }
        registration.template = RegistrationTemplate(template, name: name)
        return registration
    }
}
