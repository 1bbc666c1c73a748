extension Registration {
    /// Checks a registration that was not read from an entry.
    ///
    /// - Throws: ``ProtocolError`` 400 naming every rule that it breaks, 413 if its texts exceed ``maximumBytes``.
    package func validate(maximumTags: Int = Installation.maximumTags) throws(ProtocolError) {
        var problems = ProblemList()
        checkRules(maximumTags: maximumTags, &problems)
        try problems.throwIfAny()
        guard textBytes <= Self.maximumBytes else {
            throw .tooLarge("the registration is larger than \(Self.maximumBytes) bytes")
        }
    }

    /// The size of handle, tags, variables and template together, in bytes; an entry is larger.
    package var textBytes: Int {
        let variables = pushVariables.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        let texts = tags.reduce(pushChannel.handle.utf8.count) { $0 + $1.text.utf8.count }
        return texts + variables + (template?.body.utf8.count ?? 0)
    }

    /// Notes everything about this registration that a hub must refuse.
    ///
    /// Source: protocol §3.8.
    func checkRules(requiresPushChannel: Bool = true, maximumTags: Int, _ problems: inout ProblemList) {
        let type = RegistrationType.of(platform, isFcm: isFcm)
        if requiresPushChannel, let reason = PlatformRules(platform: platform).problem(of: pushChannel) {
            let fields = type?.handleFields ?? []
            problems.add("\(fields.isEmpty ? "the push handle" : fields.map(\.name).joined(separator: "-")) \(reason)")
        }
        checkTags(maximumTags, &problems)
        PushVariableRules.check(pushVariables, at: "PushVariables", &problems)
        if let secondaryTileName { NameRules.check(secondaryTileName, at: "SecondaryTileName", &problems) }
        guard let template else { return }
        NameRules.check(template.name, at: "TemplateName", &problems)
        if template.name.unicodeScalars.count > Installation.maximumTemplateNameLength {
            problems.add("TemplateName is longer than \(Installation.maximumTemplateNameLength) characters")
        }
        TemplateRules(platform: platform, places: TemplatePlaces(headers: type?.headerField))
            .check(template, &problems)
    }

    private func checkTags(_ maximum: Int, _ problems: inout ProblemList) {
        guard !tags.isEmpty else { return }
        TagRules.check(tags, maximum: maximum, at: "Tags", &problems)
        for name in ServerAssignedTag.names
        where tags.count(where: { $0.isServerAssigned && $0.text.hasPrefix(name) }) > 1 {
            problems.add("Tags contain more than one \(name)…}")
        }
    }
}

extension TemplatePlaces {
    /// In a registration's description.
    init(headers: RegistrationField?) {
        self.init(
            body: RegistrationField.bodyTemplate.name,
            headers: headers?.name ?? "the headers",
            expiry: RegistrationField.expiry.name,
            priority: RegistrationField.priority.name
        )
    }
}
