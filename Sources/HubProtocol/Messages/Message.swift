/// A message that a sender asks a hub to deliver, read from a request and checked.
///
/// Source: protocol §5.
package struct Message: Sendable, Equatable {
    /// Largest body, in bytes; above it a request is refused with 413.
    package static let maximumBytes = 65_536

    package let format: MessageFormat
    package let audience: MessageAudience
    package let headers: ForwardedHeaders
    /// In UTF-8 if the format is text.
    package let body: [UInt8]
    /// Properties for templates from the body; `nil` for a native format.
    package let properties: MessageProperties?

    /// Keeps the body of a native format, which must have been checked, or reads that of a template message.
    ///
    /// - Throws: ``ProtocolError`` for the body of a template message (``MessageProperties/init(json:)``).
    package init(
        format: MessageFormat = .template,
        audience: MessageAudience = .everybody,
        headers: ForwardedHeaders = .none,
        body: [UInt8]
    ) throws(ProtocolError) {
        self.format = format
        self.audience = audience
        self.headers = headers
        self.body = body
        properties = format == .template ? try MessageProperties(json: body) : nil
    }
}

/// The recipients of a message.
package enum MessageAudience: Sendable, Equatable {
    case everybody
    case matching(TagExpression)
    /// A direct send: push handles, in the sender's order, at least one.
    case handles([PushChannel])

    package var expression: TagExpression? {
        if case .matching(let expression) = self { expression } else { nil }
    }

    package var handles: [PushChannel]? {
        if case .handles(let handles) = self { handles } else { nil }
    }
}
