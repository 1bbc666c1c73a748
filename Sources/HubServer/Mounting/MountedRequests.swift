import HTTPTypes
import HubProtocol
import Hummingbird
import NIOCore
import WebEdge

/// Requests to the applications of a hub that shares its log with other nodes.
///
/// They are carried out with everything that other nodes had written before. The node that writes carries out those that
/// change something, since its queues keep changes of one device or session apart, and those with a password, so that
/// guesses at all nodes count together.
struct MountedRequests: Sendable {
    let forwarding: RequestForwarding

    /// Answers a request of a client of this node.
    func answer(
        _ request: Request,
        for application: MountedApplication,
        _ client: WebClient,
        _ context: HubRequestContext
    ) async throws -> Response {
        do {
            guard !application.staysHere, Self.isForwarded(request) else {
                return try await carryOut(request, by: application, client, context)
            }
            // The node that carries it out does not have the connection.
            var head = request.head
            head.scheme = await client.speaksTLS ? Self.encrypted : Self.plain
            let forwarded = Request(head: head, body: request.body)
            switch try await forwarding.pass(forwarded, context, isRepeatable: false) {
            case .answered(let response): return response
            case .local(let local):
                return try await carryOut(
                    Request(head: request.head, body: local.body),
                    by: application,
                    client,
                    context
                )
            }
        } catch let refusal as ProtocolError {
            return application.refuse(request, refusal)
        }
    }

    /// Answers a request that another node has passed on.
    func answer(
        forwarded request: Request,
        for application: MountedApplication,
        _ context: HubRequestContext
    ) async throws -> Response {
        let client = WebClient(of: context.peer, speaksTLS: request.head.scheme == Self.encrypted)
        do {
            return try await carryOut(request, by: application, client, context)
        } catch let refusal as ProtocolError {
            return application.refuse(request, refusal)
        }
    }

    private func carryOut(
        _ request: Request,
        by application: MountedApplication,
        _ client: WebClient,
        _ context: HubRequestContext
    ) async throws -> Response {
        try await forwarding.served.writer.catchUp()
        return try await application.respond(to: request, of: client, logger: context.logger)
    }

    /// True for a request that changes something, or that has a password.
    private static func isForwarded(_ request: Request) -> Bool {
        guard [.get, .head, .options].contains(request.method) else { return true }
        return request.headers[.authorization]?.lowercased().hasPrefix("basic ") ?? false
    }

    private static let encrypted = "https"
    private static let plain = "http"
}
