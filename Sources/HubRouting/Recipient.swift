package import HubProtocol

/// The properties of an installation that routing and rendering need, compiled once for each change to it.
///
/// Live delivery and replay both match and render through it. A cohort's recipient represents all streams that get the
/// same events.
package struct Recipient: Sendable, Hashable {
    /// One template of an installation.
    package struct Target: Sendable, Hashable {
        package let name: String
        package let template: Template
        /// The template's own tags; the installation's tags apply as well.
        package let tags: Set<Tag>
    }

    /// The installation's tags, with `$InstallationId` and `$UserId`.
    package let tags: Set<Tag>
    /// Ordered by template name.
    package let targets: [Target]
    /// Values for properties that a message lacks.
    package let variables: PushVariables

    private init(tags: Set<Tag>, targets: [Target], variables: PushVariables) {
        self.tags = tags
        self.targets = targets
        self.variables = variables
    }

    package init(_ installation: Installation) throws {
        tags = Set(installation.tags).union(installation.serverAssignedTags)
        variables = PushVariables(installation.pushVariables)
        targets = try installation.templates.sorted { $0.key < $1.key }.map { name, template in
            Target(name: name, template: try Template(parsing: template.body), tags: Set(template.tags))
        }
    }

    /// True if a message is for a template of this recipient, regardless of the rendered content.
    package func matches(_ message: RoutedMessage, _ target: Target) -> Bool {
        isAddressed(by: message) && (message.expression?.matches { counts($0, target) } ?? true)
    }

    /// True if a native message is for this recipient.
    func matches(_ message: RoutedMessage) -> Bool {
        isAddressed(by: message) && (message.expression?.matches { tags.contains($0) } ?? true)
    }

    /// True if a message produces an event for this recipient.
    package func receives(_ message: RoutedMessage) -> Bool {
        switch message.content {
        case .template: targets.contains { matches(message, $0) }
        case .native: message.isForStreams && matches(message)
        }
    }

    /// True if a direct or a test send names this recipient, or if the message is neither.
    private func isAddressed(by message: RoutedMessage) -> Bool {
        guard let installations = message.installations else { return true }
        return !installations.isDisjoint(with: tags)
    }

    /// True if a tag applies to a template.
    package func counts(_ tag: Tag, _ target: Target) -> Bool {
        tags.contains(tag) || target.tags.contains(tag)
    }

    /// True if rendering may cost far more than for an agent with its standard template, which is below 4 KiB.
    ///
    /// Heavy recipients are served last, a few at a time.
    package var isHeavy: Bool {
        targets.reduce(variables.bytes) { $0 + $1.template.weight } > Self.maximumLightWeight
    }

    /// The limit for the sum of ``Template/weight`` of all templates and the bytes of the push variables.
    private static let maximumLightWeight = 32 << 10

    /// The templates that a message is rendered through; a single `nil` for a native message.
    package func addressees(of message: RoutedMessage) -> [Target?] {
        switch message.content {
        case .template: targets.filter { matches(message, $0) }
        case .native: receives(message) ? [nil] : []
        }
    }

    /// The event that a message produces, through a template unless it is native.
    ///
    /// - Returns: `nil` if the budget does not allow it.
    package func event(
        for message: RoutedMessage,
        _ target: Target?,
        within budget: inout RenderingBudget
    ) -> StreamEvent? {
        switch message.content {
        case .template(let properties):
            guard let target else { return nil }
            let body = target.template.render(properties, variables: variables, within: &budget)
            return body.map { StreamEvent(id: message.id, template: target.name, body: $0) }
        case .native(_, let body):
            guard budget.spend(body.utf8.count) else { return nil }
            return StreamEvent(id: message.id, template: "", body: body)
        }
    }

    /// The recipient with the identity of another one.
    ///
    /// For messages that came while a device was away, the device's choice at that time applies, but messages addressed
    /// to a user who has since left the device are withheld.
    package func identified(as other: Recipient, _ reserved: ReservedTagPrefixes) -> Recipient {
        func merged(_ own: Set<Tag>, _ others: Set<Tag>) -> Set<Tag> {
            own.filter { !$0.isIdentity(reserved) }.union(others.filter { $0.isIdentity(reserved) })
        }
        let others = Dictionary(other.targets.map { ($0.name, $0.tags) }) { first, _ in first }
        return Recipient(
            tags: merged(tags, other.tags),
            targets: targets.map { target in
                let tags = merged(target.tags, others[target.name] ?? [])
                return Target(name: target.name, template: target.template, tags: tags)
            },
            variables: variables
        )
    }

    /// The recipient without the properties that do not affect its cohort: identity tags, and push variables that none
    /// of its templates names.
    package func cohort(reserved: ReservedTagPrefixes) -> Recipient {
        let named = targets.reduce(into: Set<String>()) { $0.formUnion($1.template.propertyNames) }
        return Recipient(
            tags: tags.filter { !$0.isIdentity(reserved) },
            targets: targets,
            variables: variables.named(named)
        )
    }
}

extension Tag {
    /// True if the tag names a person or device instead of a subject.
    package func isIdentity(_ reserved: ReservedTagPrefixes) -> Bool {
        isServerAssigned || reserved.contains(self)
    }
}

extension TagExpression {
    /// True if the result can differ within a cohort.
    func namesIdentity(_ reserved: ReservedTagPrefixes) -> Bool {
        tags.contains { $0.isIdentity(reserved) }
    }
}
