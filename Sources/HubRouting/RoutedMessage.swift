package import HubProtocol

/// A message on its way: parsed once, matched and rendered for many.
package struct RoutedMessage: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case template(MessageProperties)
        /// As the platform takes it; text, except for raw notifications of Windows.
        case native(MessageFormat, body: String)
    }

    package let sequence: LogSequence
    package let id: MessageID
    /// `nil` is a broadcast.
    package let expression: TagExpression?
    /// The `stream` installations that it is for, by their own tags, whatever else matches: those of a direct or a test
    /// send.
    package let installations: Set<Tag>?
    package let content: Content
    /// Bytes of its body, which it holds in memory.
    package let size: Int

    /// `installations` are those that a direct or a test send names; `nil` for all that match.
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

    /// True if streams can get something of it.
    package var isForStreams: Bool { format == .template || format == .stream }

    /// True if the members of a cohort may differ in whether they get it.
    package func namesIdentity(_ reserved: ReservedTagPrefixes) -> Bool {
        installations != nil || expression?.namesIdentity(reserved) == true
    }
}
