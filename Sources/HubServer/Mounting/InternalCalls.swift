package import HTTPTypes
package import HubProtocol
import HubRouting
package import Hummingbird
import Logging
package import NIOCore

/// Makes calls from this process to its hubs.
///
/// They use the same routes as calls of clients, but no connection, no TLS and no place in the connection limits.
package struct InternalCalls: Sendable {
    let directory: HubDirectory
    let responder: RouterResponder<HubRequestContext>
    let logger: Logger

    /// The body of a reply exceeds the caller's limit.
    package struct TooLarge: Error {}

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - head: The head, with a path from the root.
    ///   - body: The whole body.
    ///   - replyLimit: Maximum size of the reply in bytes.
    /// - Returns: The hub's response, which may be a refusal.
    /// - Throws: ``TooLarge``, or the error of a route that fails while it writes its reply.
    package func send(
        _ head: HTTPRequest,
        body: ByteBuffer,
        replyLimit: Int
    ) async throws -> (head: HTTPResponse, body: ByteBuffer) {
        let request = Request(head: head, body: RequestBody(buffer: body))
        let response = try await responder.respond(to: request, context: HubRequestContext(logger: logger))
        let collected = ReplyCollector(limit: replyLimit)
        try await response.body.write(collected)
        return (response.head, collected.bytes)
    }

    /// Opens a stream, which gets the whole connection if its request is the first one there.
    ///
    /// `channel` is the connection on whose behalf the call is made; quotas count its address.
    ///
    /// - Returns: The hub's response. The response to a stream that gets the connection is not sent.
    package func openStream(_ head: HTTPRequest, for channel: any Channel) async throws -> Response {
        guard let handover = StreamHandover.current else { return try await open(head, for: channel) }
        handover.pass(head)
        return Response(status: .ok)
    }

    /// Sends a request without a body, for a reply that is passed on as it is written.
    ///
    /// - Parameters:
    ///   - head: The head, with a path from the root.
    ///   - channel: The connection on whose behalf the call is made; quotas count its address.
    ///   - mayReadFeeds: True if the caller has found that the client may read feeds, without a token of the hub.
    /// - Returns: The hub's response, which may be a refusal.
    /// - Throws: The error of a route.
    package func open(
        _ head: HTTPRequest,
        for channel: any Channel,
        mayReadFeeds: Bool = false
    ) async throws -> Response {
        try await responder.respond(
            to: Request(head: head, body: RequestBody(buffer: ByteBuffer())),
            context: HubRequestContext(logger: logger, channel: channel, mayReadFeeds: mayReadFeeds)
        )
    }

    /// The rule with which a hub can be managed now: a rule of the hub or else of the namespace.
    ///
    /// Keys change while the server runs: read the rule for each call.
    ///
    /// - Returns: `nil` if there is no such rule.
    package func managingRule(of hub: HubName) -> AccessRule? {
        let own = (try? directory.hub(named: hub.text))?.status.rules.hub ?? []
        let managing = (own + directory.namespaceRules).filter { $0.rights.grants(.manage) }
        return managing.first { $0.name == AccessRule.defaultFullName } ?? managing.first
    }
}

/// Collects the body of a reply; for one writer.
final class ReplyCollector: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    func write(_ buffer: ByteBuffer) async throws {
        guard bytes.readableBytes + buffer.readableBytes <= limit else { throw InternalCalls.TooLarge() }
        bytes.writeImmutableBuffer(buffer)
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
