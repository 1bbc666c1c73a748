extension Installation {
    /// Notes everything about this installation that a hub must refuse, after a PUT or a PATCH.
    ///
    /// Source: protocol §3.8, §4.2; §11.1 for platform `stream`.
    ///
    /// A channel is not required if only its digest is stored, outside this record.
    func checkRules(_ problems: inout ProblemList, maximumTags: Int, requiresPushChannel: Bool = true) {
        guard platform.isKnown else {
            let names = Platform.known.map(\.rawValue).joined(separator: ", ")
            problems.add("platform '\(platform.rawValue.excerpt)' is not one of \(names)")
            return
        }
        let rules = TargetRules(platform: platform, maximumTags: maximumTags)
        if let own = self[tile: nil] {
            if requiresPushChannel || pushChannel != nil { rules.checkChannel(own, at: "", &problems) }
            rules.check(own, at: "", &problems)
        }
        PushVariableRules.check(pushVariables, at: "pushVariables", &problems)

        if !secondaryTiles.isEmpty, platform != .wns {
            problems.add("secondaryTiles are for platform wns only")
            return
        }
        if secondaryTiles.count > Self.maximumSecondaryTiles {
            problems.add("there are more than \(Self.maximumSecondaryTiles) secondaryTiles")
        }
        for (name, tile) in secondaryTiles.sorted(by: { $0.key < $1.key }) {
            NameRules.check(name, at: "secondaryTiles/\(name.excerpt)", &problems)
            rules.checkChannel(tile, at: "secondaryTiles/\(name.excerpt)/", &problems)
            rules.check(tile, at: "secondaryTiles/\(name.excerpt)/", &problems)
        }
    }

    /// Checks an installation that was derived from another one.
    ///
    /// - Throws: ``ProtocolError`` 400 with every rule that it breaks.
    package func validate(
        replacing current: Installation,
        maximumTags: Int = Self.maximumTags
    ) throws(ProtocolError) {
        var problems = ProblemList()
        // A hub keeps only the digest of a stream's channel, so there is none to look at unless a change brings one.
        let hasHiddenChannel = current.platform == .stream && pushChannel == nil
        checkRules(&problems, maximumTags: maximumTags, requiresPushChannel: !hasHiddenChannel)
        if encodedJSON(as: .request).utf8.count > Self.maximumBytes {
            problems.add("the installation would be larger than \(Self.maximumBytes) bytes")
        }
        try problems.throwIfAny()
    }
}

/// Rules for an installation's own channel and for each secondary tile.
private struct TargetRules {
    let platform: Platform
    let maximumTags: Int

    func checkChannel(_ target: SecondaryTile, at label: String, _ problems: inout ProblemList) {
        if let channel = target.pushChannel {
            let reason = PlatformRules(platform: platform).problem(of: channel)
            if let reason { problems.add("\(label)pushChannel \(reason)") }
        } else {
            problems.add("\(label)pushChannel is missing")
        }
    }

    func check(_ target: SecondaryTile, at label: String, _ problems: inout ProblemList) {
        TagRules.check(target.tags, maximum: maximumTags, at: "\(label)tags", &problems)
        if target.templates.count > Installation.maximumTemplates {
            problems.add("there are more than \(Installation.maximumTemplates) \(label)templates")
        }
        for (name, template) in target.templates.sorted(by: { $0.key < $1.key }) {
            let place = "\(label)templates/\(name.excerpt)"
            if name.isEmpty || name.unicodeScalars.count > Installation.maximumTemplateNameLength {
                problems.add(
                    "\(place): a template's name must have 1 to \(Installation.maximumTemplateNameLength) characters"
                )
            }
            // The template's own name is a tag that counts towards no limit (protocol §4.3).
            let given = template.tags.filter { $0 != Tag(templateName: name) }
            NameRules.check(name, at: place, &problems)
            TagRules.check(target.tags + given, maximum: maximumTags, at: "\(place)/tags", &problems)
            let rules = TemplateRules(platform: platform, places: TemplatePlaces(installation: place))
            rules.check(RegistrationTemplate(template, name: name), &problems)
        }
    }
}
