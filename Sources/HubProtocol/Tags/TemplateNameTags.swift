extension Tag {
    /// The tag that the name of an installation's template gives it.
    ///
    /// `nil` for a name that is not a valid tag, and for one that begins with `$`: the hub itself assigns such tags.
    ///
    /// Source: protocol §4.3.
    package init?(templateName name: String) {
        guard name.unicodeScalars.first != "$", let tag = try? Tag(name) else { return nil }
        self = tag
    }
}

extension Installation {
    /// Adds each template's name to the end of its tags, unless it is among them.
    ///
    /// Every installation that a hub stores has passed through this, so that an expression such as `newsEN &&
    /// $UserId:{u7}` selects a device and one of its templates. A request cannot remove such a tag, and the native
    /// registration never has it.
    ///
    /// - Parameter isMeant: False for tags that must not be added.
    ///
    /// Source: protocol §4.3.
    package mutating func addTemplateNameTags(where isMeant: (Tag) -> Bool = { _ in true }) {
        for tile in tileNames {
            guard var target = self[tile: tile] else { continue }
            for (name, template) in target.templates {
                guard let tag = Tag(templateName: name), isMeant(tag), !template.tags.contains(tag) else { continue }
                target.templates[name]?.tags.append(tag)
            }
            self[tile: tile] = target
        }
    }

    /// The names of all templates, those of secondary tiles included.
    package var templateNames: Set<String> {
        secondaryTiles.values.reduce(into: Set(templates.keys)) { $0.formUnion($1.templates.keys) }
    }
}
