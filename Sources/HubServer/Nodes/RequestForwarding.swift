import HTTPTypes
import HubProtocol
import HubStore
import Hummingbird
import Logging
import NIOCore

/// Passes requests that change something to the node that writes, so that nodes do not compete for the log's next
/// entry.
///
/// A request is executed once: by the other node, or here if that node cannot have got it.
struct RequestForwarding: Sendable {
    /// Maximum size of a body that is forwarded, in bytes; requests with larger ones are executed here.
    static let maximumBody = 256 << 10
    /// Maximum size of a reply's body, in bytes: with its head, it fits into a message of 1 MiB.
    static let maximumReply = 960 << 10
    /// Longer than the other node waits for the log before it refuses a change.
    static let timeout = Duration.seconds(12)

    enum Passing {
        case answered(Response)
        /// The request is to be executed here; its body may have been read.
        case local(Request)
    }

    let writers: WriterWatch
    let channel: any NodeChannel
    let store: HubStore
    let writer: HubWriter

    /// Passes a request on, if another node writes.
    ///
    /// - Throws: 503 if the other node does not answer and may have executed the request; the errors of reading a body.
    func pass(_ allowed: some AllowedRequest) async throws -> Passing {
        let request = allowed.request
        guard !allowed.context.isForwarded, let node = writers.otherWriter, fits(request) else {
            return .local(request)
        }
        let body = ByteBuffer(bytes: try await allowed.body(limit: Self.maximumBody))
        let forwarded = ForwardedRequest(head: request.head, peer: allowed.context.peer, body: body)
        do throws(NodeChannelError) {
            let answer = try await channel.request(forwarded.encoded, of: node, timeout: Self.timeout)
            return .answered(try await reply(answer))
        } catch .absent {
            writers.forget(node)
            return .local(Request(head: request.head, body: RequestBody(buffer: body)))
        } catch {
            throw Self.unknown
        }
    }

    /// True if the request can be read completely, and sent in one message.
    private func fits(_ request: Request) -> Bool {
        // The length of a body in chunks is not known before the body has been read.
        guard request.headers[.transferEncoding] == nil else { return false }
        guard let length = request.headers[.contentLength] else { return request.method == .delete }
        return Int(length) ?? .max <= Self.maximumBody
    }

    /// Returns the response when this node has the change, so that a client can read here what it has written.
    private func reply(_ answer: [UInt8]) async throws(NodeChannelError) -> Response {
        guard let reply = try? ForwardedReply(encoded: answer) else { throw .timeout }
        // The change has been made, even if this node cannot follow now.
        if store.head.number < reply.position { try? await writer.catchUp(to: .entry(reply.position)) }
        return reply.response
    }

    private static let unknown = ProtocolError.unavailable(
        "The node that writes has not answered in time, and may have executed the request; try again shortly."
    )
}

/// Executes requests that other nodes have passed on.
struct ForwardedExecution: Sendable {
    let responder: RouterResponder<HubRequestContext>
    let store: HubStore
    let logger: Logger

    /// Executes an encoded request, and returns the encoded reply; no bytes for a request that cannot be read.
    func answer(_ bytes: ArraySlice<UInt8>) async -> [UInt8] {
        guard let forwarded = try? ForwardedRequest(encoded: bytes) else { return [] }
        let context = HubRequestContext(logger: logger, forwardedFrom: forwarded.peer)
        let request = Request(head: forwarded.head, body: RequestBody(buffer: forwarded.body))
        do {
            let response = try await responder.respond(to: request, context: context)
            let body = ReplyCollector(limit: RequestForwarding.maximumReply)
            try await response.body.write(body)
            return ForwardedReply(head: response.head, body: body.bytes, position: store.head.number).encoded
        } catch {
            let refusal = ErrorReply(.internalError("The reply cannot be passed on to another node."))
            return ForwardedReply(head: refusal.response.head, body: refusal.bytes, position: store.head.number).encoded
        }
    }
}
