import HubProtocol
import HubRouting
import HubStore

extension Installation {
    /// Reduces the installation to what a holder of Listen may store: reserved tags stay with their template or tile,
    /// and that keeps its push channel.
    ///
    /// A tag on one template applies to that template only, so it gives no right to the same tag elsewhere. `removed`
    /// are tags whose removal was requested by name.
    ///
    /// - Throws: 401 if a reserved tag would be set, or removed by name, or would reach another push channel; 400 if
    ///   the parts that must stay and the requested ones together break a rule.
    mutating func keepReservedTags(
        of current: StoredInstallation?,
        _ reserved: ReservedTagPrefixes,
        removed: [Tag],
        maximumTags: Int
    ) throws(ProtocolError) {
        let held = current?.installation.tagPlaces ?? []
        for place in tagPlaces where reserved.contains(place.tag) && !held.contains(place) {
            throw .reserved(place.tag)
        }
        for name in templateNames.subtracting(current?.installation.templateNames ?? []) {
            if let tag = try? Tag(name), tag.isServerAssigned { throw .reserved(tag) }
        }
        for tag in removed where reserved.contains(tag) { throw .reserved(tag) }
        guard let current else { return }
        let asked = self
        for place in held where reserved.contains(place.tag) { keep(place, of: current.installation) }
        keepTags(of: current.installation) { reserved.contains($0) }
        if self != asked { try validate(replacing: current.installation, maximumTags: maximumTags) }
        if held.contains(where: { reserved.contains($0.tag) }) { try keepChannels(of: current) }
    }

    /// Refuses push channels that the stored installation does not have: anyone who learns its id could otherwise
    /// direct another person's notifications to a device of their own.
    private func keepChannels(of current: StoredInstallation) throws(ProtocolError) {
        let held = current.installation.channels
        let isStream = platform == .stream && current.installation.platform == .stream
        guard platform == current.installation.platform else { throw .reservedChannel }
        for (tile, channel) in channels {
            if tile == nil, isStream {
                // Only the secret's digest is stored, and a change that names no secret keeps it.
                guard case .handle(let text) = channel else { continue }
                guard let digest = current.channelDigest, try PushChannelSecret(text).matches(digest: digest) else {
                    throw .reservedChannel
                }
            } else if !held.contains(where: { $0.channel.isSameAddress(as: channel) }) {
                throw .reservedChannel
            }
        }
    }

    /// The installation's own push channel, whose tile is `nil`, and those of its secondary tiles.
    private var channels: [(tile: String?, channel: PushChannel)] {
        let tiles = secondaryTiles.compactMap { name, tile in
            tile.pushChannel.map { (tile: String?.some(name), channel: $0) }
        }
        return (pushChannel.map { [(tile: nil, channel: $0)] } ?? []) + tiles
    }

    /// Puts back the template or tile that has a tag, if it is gone.
    private mutating func keep(_ place: TagPlace, of current: Installation) {
        if let tile = place.tile {
            if secondaryTiles[tile] == nil { secondaryTiles[tile] = current.secondaryTiles[tile] }
            guard let template = place.template, secondaryTiles[tile]?.templates[template] == nil else { return }
            secondaryTiles[tile]?.templates[template] = current.secondaryTiles[tile]?.templates[template]
        } else if let template = place.template, templates[template] == nil {
            templates[template] = current.templates[template]
        }
    }

    private var tagPlaces: Set<TagPlace> {
        var places = Set(tags.map { TagPlace(tag: $0) })
        for (name, template) in templates {
            places.formUnion(template.tags.map { TagPlace(tag: $0, template: name) })
        }
        for (tile, target) in secondaryTiles {
            places.formUnion(target.tags.map { TagPlace(tag: $0, tile: tile) })
            for (name, template) in target.templates {
                places.formUnion(template.tags.map { TagPlace(tag: $0, tile: tile, template: name) })
            }
        }
        return places
    }
}

extension Registration {
    /// Reduces the registration to what a holder of Listen may store: the reserved tags of the stored registration
    /// stay, on its push channel.
    ///
    /// `$InstallationId:{…}` and `$UserId:{…}` are reserved here as well: a registration with one of them would receive
    /// messages for an installation or user of another device.
    ///
    /// - Throws: 401 if a reserved tag would be set, or would reach another push channel.
    mutating func keepReservedTags(
        of current: Registration?,
        _ reserved: ReservedTagPrefixes
    ) throws(ProtocolError) {
        let held = current?.reservedTags(reserved) ?? []
        for tag in reservedTags(reserved) where !held.contains(tag) { throw .reserved(tag) }
        guard let current, !held.isEmpty else { return }
        tags += held.filter { !tags.contains($0) }
        guard platform == current.platform, current.pushChannel.isSameAddress(as: pushChannel) else {
            throw .reservedChannel
        }
    }

    /// Tags that can be set, removed, or found by the push channel only with Manage.
    func reservedTags(_ reserved: ReservedTagPrefixes) -> [Tag] { tags.filter { $0.isIdentity(reserved) } }
}

extension StoredRegistration {
    /// True if a holder of Listen must neither redirect this registration nor find it by its push channel.
    ///
    /// An installation's own `$InstallationId:{…}` and `$UserId:{…}` do not count: every installation has them.
    func carriesReservedTags(_ reserved: ReservedTagPrefixes) -> Bool {
        installation == nil
            ? !registration.reservedTags(reserved).isEmpty : installationTags.contains(where: reserved.contains)
    }
}

/// A tag and the part of an installation that has it.
private struct TagPlace: Hashable {
    let tag: Tag
    var tile: String?
    /// The template, or that of the tile if there is one.
    var template: String?
}

extension ProtocolError {
    fileprivate static func reserved(_ tag: Tag) -> ProtocolError {
        .manageRequired("Manage claim is required to set or remove the reserved tag '\(tag.text)'.")
    }

    fileprivate static let reservedChannel = manageRequired(
        """
        Manage claim is required to change the push channel of a device with reserved tags. Delete the device and \
        register it again without these tags, or change it with Manage.
        """
    )

    /// A list by push channel contains registrations that a holder of Listen must not find.
    static let reservedList = manageRequired(
        """
        Manage claim is required to list a device with reserved tags by its push channel. Read it by its id, or list \
        with Manage.
        """
    )

    private static func manageRequired(_ detail: String) -> ProtocolError {
        ProtocolError(.claimRequired, detail)
    }
}
