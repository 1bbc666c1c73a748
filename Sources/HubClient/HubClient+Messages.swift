package import FoundationEssentials
package import HubProtocol
import OutboundHTTP

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

extension HubClient {
    /// Sends one message; when this returns, the hub has accepted it for delivery.
    ///
    /// - Returns: The hub's id of the message, if it gave one.
    package func send(_ message: OutgoingMessage) async throws(HubClientError) -> MessageID? {
        id(in: try await succeed(call("/messages/", message)))
    }

    /// Sends one template message, as a publisher does.
    package func send(
        _ body: [UInt8],
        tags: String?,
        idempotencyKey: String?
    ) async throws(HubClientError) -> MessageID? {
        try await send(OutgoingMessage(body, tags: tags, idempotencyKey: idempotencyKey))
    }

    /// Schedules one message for a time up to seven days from now.
    ///
    /// - Returns: The id to cancel it with, if the hub gave one.
    package func schedule(
        _ message: OutgoingMessage,
        at date: Date
    ) async throws(HubClientError) -> MessageID? {
        var call = call("/schedulednotifications/", message)
        call.headers.append((HeaderName.scheduleTime, ISODateTime.format(date)))
        return id(in: try await succeed(call))
    }

    /// Cancels a scheduled message.
    ///
    /// - Returns: `false` when the hub has none of this id.
    package func cancel(_ id: MessageID) async throws(HubClientError) -> Bool {
        let call = HubCall("DELETE", "/schedulednotifications/\(HubCall.segment(id.text))")
        return try await succeed(call, unless: [404]) != nil
    }

    /// Sends a message to at most ten of the devices that match, and waits for the outcomes.
    package func test(
        _ message: OutgoingMessage
    ) async throws(HubClientError) -> (id: MessageID?, outcome: NotificationOutcome) {
        var call = call("/messages/", message)
        call.query.append(("test", "true"))
        let reply = try await succeed(call)
        guard let outcome = NotificationOutcome(xml: String(decoding: reply.body, as: UTF8.self)) else {
            throw .malformedReply("the outcome of the test send cannot be read")
        }
        return (id(in: reply), outcome)
    }

    /// The protocol's telemetry of a message, which every hub has.
    ///
    /// - Returns: `nil` for a message that the hub does not know.
    package func details(of id: MessageID) async throws(HubClientError) -> NotificationDetails? {
        let call = HubCall("GET", "/messages/\(HubCall.segment(id.text))")
        guard let reply = try await succeed(call, unless: [404]) else { return nil }
        guard let details = NotificationDetails(xml: String(decoding: reply.body, as: UTF8.self)) else {
            throw .malformedReply("the telemetry of the message cannot be read")
        }
        return details
    }

    private func call(_ path: String, _ message: OutgoingMessage) -> HubCall {
        var call = HubCall("POST", path)
        let native = NativeHeaders(of: message.body, format: message.format)
        call.body = message.body
        call.contentType = native.contentType
        let given = Set(message.headers.map { $0.name.lowercased() })
        let implied = native.headers.filter { !given.contains($0.name.lowercased()) }
        call.headers = [(HeaderName.format, message.format.rawValue)] + implied + message.headers
        if let tags = message.tags, !tags.isEmpty { call.headers.append((HeaderName.tags, tags)) }
        if let device = message.device {
            call.query.append(("direct", "true"))
            call.headers.append((HeaderName.deviceHandle, device))
        }
        if let key = message.idempotencyKey { call.headers.append((HeaderName.idempotencyKey, key)) }
        return call
    }

    private func id(in reply: OutboundResponse) -> MessageID? {
        let location = reply.headers["Location"]?.prefix { $0 != "?" && $0 != "#" }
        return location?.split(separator: "/").last.flatMap { try? MessageID(String($0)) }
    }
}
