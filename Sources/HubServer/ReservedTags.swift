import HubProtocol

extension Installation {
    /// Makes this what a holder of Listen may store: every reserved tag stays where it was, with the template or tile
    /// that bears it.
    ///
    /// A tag on one template counts for that template only, so it gives no right to the same tag anywhere else.
    ///
    /// `current` is what stands under the id now; `removed` are tags whose removal was asked for by name; `maximumTags`
    /// is what an installation may have together with one template.
    ///
    /// - Throws: 401 when a reserved tag would be set, or removed by name; 400 when what stays breaks a rule beside what
    ///   was asked for.
    mutating func keepReservedTags(
        of current: Installation?,
        _ reserved: ReservedTagPrefixes,
        removed: [Tag],
        maximumTags: Int
    ) throws(ProtocolError) {
        let held = current.map(\.tagPlaces) ?? []
        for place in tagPlaces where reserved.contains(place.tag) && !held.contains(place) {
            throw .reserved(place.tag)
        }
        for tag in removed where reserved.contains(tag) { throw .reserved(tag) }
        guard let current else { return }
        let asked = self
        for place in current.tagPlaces where reserved.contains(place.tag) { keep(place, of: current) }
        keepTags(of: current) { reserved.contains($0) }
        if self != asked { try validate(replacing: current, maximumTags: maximumTags) }
    }

    /// Puts back the template or tile that bears a tag, if it is gone.
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
    /// Makes this what a holder of Listen may store: the reserved tags of what stands under the id now stay.
    ///
    /// - Throws: 401 when a reserved tag would be set.
    mutating func keepReservedTags(
        of current: Registration?,
        _ reserved: ReservedTagPrefixes
    ) throws(ProtocolError) {
        let held = current?.tags.filter { reserved.contains($0) } ?? []
        for tag in tags where reserved.contains(tag) && !held.contains(tag) { throw .reserved(tag) }
        tags += held.filter { !tags.contains($0) }
    }
}

/// A tag and what of an installation bears it.
private struct TagPlace: Hashable {
    let tag: Tag
    var tile: String?
    /// Of the tile, if there is one.
    var template: String?
}

extension ProtocolError {
    fileprivate static func reserved(_ tag: Tag) -> ProtocolError {
        ProtocolError(
            status: 401,
            code: 40100,
            detail: "Manage claim is required to set or remove the reserved tag '\(tag.text)'."
        )
    }
}
