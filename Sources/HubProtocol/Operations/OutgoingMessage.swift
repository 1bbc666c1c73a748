/// A message to be sent to a hub.
package struct OutgoingMessage: Sendable {
    package let body: [UInt8]
    package var format: MessageFormat
    /// A tag expression; `nil` or empty for everybody.
    package var tags: String?
    /// The only push handle to send to; a message has a handle or tags, not both.
    package var device: String?
    /// Headers for the push service, such as `apns-priority`; each replaces the header of this name that the body implies.
    package var headers: [(name: String, value: String)] = []
    /// The key by which a hub of ours recognizes a repeat of this call, and does not deliver the message again.
    package var idempotencyKey: String?

    package init(
        _ body: [UInt8],
        format: MessageFormat = .template,
        tags: String? = nil,
        device: String? = nil,
        idempotencyKey: String? = nil
    ) {
        self.body = body
        self.format = format
        self.tags = tags
        self.device = device
        self.idempotencyKey = idempotencyKey
    }

    /// A new idempotency key: 128 random bits in 32 hexadecimal digits.
    package static func newIdempotencyKey() -> String { MessageID.random().text }
}

extension OutgoingMessage {
    /// The headers of a request with this message: content type and format, the headers that the body implies, those of
    /// the message, its audience and its key.
    package var requestHeaders: [(name: String, value: String)] {
        let native = NativeHeaders(of: body, format: format)
        let given = Set(headers.map { $0.name.lowercased() })
        let implied = native.headers.filter { !given.contains($0.name.lowercased()) }
        var all = [(name: "Content-Type", value: native.contentType), (HeaderName.format, format.rawValue)]
        all += implied + headers
        if let tags, !tags.isEmpty { all.append((HeaderName.tags, tags)) }
        if let device { all.append((HeaderName.deviceHandle, device)) }
        if let idempotencyKey { all.append((HeaderName.idempotencyKey, idempotencyKey)) }
        return all
    }
}
