package import HubProtocol

/// A message in delivery: parsed once, matched and rendered for many recipients.
package struct RoutedMessage: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case template(MessageProperties)
        /// The body that the platform takes: text, except for raw notifications of Windows.
        case native(MessageFormat, body: String)
    }

    package let sequence: LogSequence
    package let id: MessageID
    /// `nil` is a broadcast.
    package let expression: TagExpression?
    /// The tags of the `stream` installations that a direct or a test send is for, whatever else matches.
    package let installations: Set<Tag>?
    package let content: Content
    /// Size in bytes of the body, which is held in memory.
    package let size: Int
    /// The time at which this node accepted it, or released it if it was scheduled; `nil` at other nodes.
    package var acceptedAt: Timestamp?

    /// Creates a message; `installations` are those that a direct or a test send names, `nil` for all that match.
    package init(sequence: LogSequence, id: MessageID, _ message: Message, installations: [InstallationID]?) {
        self.sequence = sequence
        self.id = id
        expression = message.audience.expression
        size = message.body.count
        self.installations = installations.map { Set($0.map { Tag.installation($0) }) }
        content =
            if let properties = message.properties {
                .template(properties)
            } else {
                .native(message.format, body: String(decoding: message.body, as: UTF8.self))
            }
    }

    package var format: MessageFormat {
        switch content {
        case .template: .template
        case .native(let format, _): format
        }
    }

    /// True if streams can get an event for this message.
    package var isForStreams: Bool { format == .template || format == .stream }

    /// True if members of a cohort may differ in whether they get the message.
    package func namesIdentity(_ reserved: ReservedTagPrefixes) -> Bool {
        installations != nil || expression?.namesIdentity(reserved) == true
    }
}
