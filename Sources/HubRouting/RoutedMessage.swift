import HubProtocol
import HubStore

/// A message on its way: parsed once, matched and rendered for many.
struct RoutedMessage: Sendable {
    enum Content: Sendable {
        case template(MessageProperties)
        /// As the platform takes it; text, except for raw notifications of Windows.
        case native(MessageFormat, body: String)
    }

    let sequence: Int64
    let id: MessageID
    /// `nil` is a broadcast.
    let expression: TagExpression?
    /// The `stream` installations that it is for, by their own tags, whatever else matches: those of a direct or a test
    /// send.
    let installations: Set<Tag>?
    let content: Content

    init(sequence: Int64, id: MessageID, _ message: Message, targets: MessageTargets?) {
        self.sequence = sequence
        self.id = id
        expression = message.audience.expression
        installations = targets.map { Set($0.installations.map { Tag.installation($0) }) }
        content =
            if let properties = message.properties {
                .template(properties)
            } else {
                .native(message.format, body: String(decoding: message.body, as: UTF8.self))
            }
    }

    /// Reads a message back from the log, where it stands only because it was valid.
    init(_ logged: LoggedMessage) throws {
        self.init(
            sequence: logged.sequence,
            id: try logged.id,
            try logged.record.message,
            targets: try logged.record.targets
        )
    }

    var format: MessageFormat {
        switch content {
        case .template: .template
        case .native(let format, _): format
        }
    }

    /// Whether streams can get something of it.
    var isForStreams: Bool { format == .template || format == .stream }

    /// Whether the answer to "who gets it" can differ within a cohort.
    func namesIdentity(_ reserved: ReservedTagPrefixes) -> Bool {
        installations != nil || expression?.namesIdentity(reserved) == true
    }
}

extension MessageRecord {
    /// What was sent.
    var message: Message {
        get throws {
            let handles = try targets.map(\.handles) ?? []
            let audience: MessageAudience
            if !handles.isEmpty {
                audience = .handles(handles)
            } else if let tags {
                audience = .matching(try TagExpression(parsing: tags, limits: .stored))
            } else {
                audience = .everybody
            }
            return try Message(format: format, audience: audience, headers: headers, body: body)
        }
    }
}
