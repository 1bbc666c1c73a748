package import FoundationEssentials
package import HubProtocol
import OutboundHTTP

extension HubClient {
    package func send(_ message: OutgoingMessage) async throws(HubError) -> MessageID? {
        id(in: try await succeed(call("/messages/", message)))
    }

    package func schedule(
        _ message: OutgoingMessage,
        at date: Date
    ) async throws(HubError) -> MessageID? {
        var call = call("/schedulednotifications/", message)
        call.headers.append((HeaderName.scheduleTime, ISODateTime.format(date)))
        return id(in: try await succeed(call))
    }

    package func cancel(_ id: MessageID) async throws(HubError) -> Bool {
        let call = HubCall("DELETE", "/schedulednotifications/\(HubCall.segment(id.text))")
        return try await succeed(call, unless: [404]) != nil
    }

    package func test(
        _ message: OutgoingMessage
    ) async throws(HubError) -> (id: MessageID?, outcome: NotificationOutcome) {
        var call = call("/messages/", message)
        call.query.append(("test", "true"))
        let reply = try await succeed(call)
        guard let outcome = NotificationOutcome(xml: String(decoding: reply.body, as: UTF8.self)) else {
            throw .malformedReply("the outcome of the test send cannot be read")
        }
        return (id(in: reply), outcome)
    }

    package func details(of id: MessageID) async throws(HubError) -> NotificationDetails? {
        let call = HubCall("GET", "/messages/\(HubCall.segment(id.text))")
        guard let reply = try await succeed(call, unless: [404]) else { return nil }
        guard let details = NotificationDetails(xml: String(decoding: reply.body, as: UTF8.self)) else {
            throw .malformedReply("the telemetry of the message cannot be read")
        }
        return details
    }

    private func call(_ path: String, _ message: OutgoingMessage) -> HubCall {
        var call = HubCall("POST", path)
        call.body = message.body
        call.contentType = nil
        call.headers = message.requestHeaders
        if message.device != nil { call.query.append(("direct", "true")) }
        return call
    }

    private func id(in reply: OutboundResponse) -> MessageID? {
        reply.createdID.flatMap { try? MessageID($0) }
    }
}
