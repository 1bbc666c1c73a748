import HubProtocol
import HubStore

/// A message on its way: parsed once, matched and rendered for many.
struct RoutedMessage: Sendable {
    let sequence: Int64
    let id: MessageID
    /// `nil` is a broadcast.
    let expression: TagExpression?
    let properties: MessageProperties

    init(sequence: Int64, id: MessageID, expression: TagExpression?, properties: MessageProperties) {
        self.sequence = sequence
        self.id = id
        self.expression = expression
        self.properties = properties
    }

    /// Reads a message back from the log, where it stands only because it was valid.
    init(_ logged: LoggedMessage) throws {
        sequence = logged.sequence
        id = try logged.id
        expression = try logged.tags.map { try TagExpression(parsing: $0) }
        properties = try MessageProperties(json: logged.body)
    }
}

/// What routing and rendering need of an installation, compiled once for each change of it.
///
/// Live delivery and replay both go through ``EventEncoding/encode(_:for:)``; a cohort stands for all recipients that it
/// answers for alike.
struct Recipient: Sendable, Hashable {
    /// One template of an installation.
    struct Target: Sendable, Hashable {
        let name: String
        let template: Template
        /// The template's own tags; those of the installation count beside them.
        let tags: Set<Tag>
    }

    /// The installation's tags, with `$InstallationId` and `$UserId`.
    let tags: Set<Tag>
    /// In the order of their names.
    let targets: [Target]
    /// Values for what a message lacks.
    let variables: [String: String]

    private init(tags: Set<Tag>, targets: [Target], variables: [String: String]) {
        self.tags = tags
        self.targets = targets
        self.variables = variables
    }

    init(_ installation: Installation) throws {
        tags = Set(installation.tags).union(installation.serverAssignedTags)
        variables = installation.pushVariables
        targets = try installation.templates.sorted { $0.key < $1.key }.map { name, template in
            Target(name: name, template: try Template(parsing: template.body), tags: Set(template.tags))
        }
    }

    /// Whether a template of this recipient matches, ignoring what it would show.
    func matches(_ expression: TagExpression?, _ target: Target) -> Bool {
        guard let expression else { return true }
        return expression.matches { counts($0, target) }
    }

    /// Whether a tag counts for a template.
    func counts(_ tag: Tag, _ target: Target) -> Bool {
        tags.contains(tag) || target.tags.contains(tag)
    }

    /// The most that all templates together can make of a message's body of so many bytes: a bound, not a size.
    func maximumBytes(ofBody bytes: Int) -> Int {
        let values = variables.values.reduce(bytes) { $0 + $1.utf8.count }
        return targets.reduce(0) { $0 + $1.template.maximumBytes(ofValues: values) + EventEncoding.maximumFrameBytes }
    }

    /// The event that a message becomes through one template.
    func event(for message: RoutedMessage, _ target: Target) -> StreamEvent {
        StreamEvent(
            id: message.id,
            template: target.name,
            body: target.template.render(message.properties, variables: variables)
        )
    }

    /// The recipient without what tells it apart from others that get the same: identity tags, and push variables
    /// that none of its templates names.
    func cohort(reserved: ReservedTagPrefixes) -> Recipient {
        let named = targets.reduce(into: Set<String>()) { $0.formUnion($1.template.propertyNames) }
        return Recipient(
            tags: tags.filter { !$0.isIdentity(reserved) },
            targets: targets,
            variables: variables.filter { named.contains($0.key.lowercased()) }
        )
    }
}

extension Tag {
    /// Whether the tag names somebody rather than a subject.
    func isIdentity(_ reserved: ReservedTagPrefixes) -> Bool {
        isServerAssigned || reserved.contains(self)
    }
}

extension TagExpression {
    /// Whether the answer can differ within a cohort.
    func namesIdentity(_ reserved: ReservedTagPrefixes) -> Bool {
        tags.contains { $0.isIdentity(reserved) }
    }
}
