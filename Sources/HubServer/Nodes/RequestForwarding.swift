import HTTPTypes
import HubProtocol
import HubStore
import Hummingbird
import Logging
import NIOCore
import WebEdge

/// Passes requests that change something to the node that writes, so that nodes do not compete for the log's next
/// entry.
///
/// A request is executed once: by the other node, or here if that node has not executed it and will not. Once the other
/// node's claim in the request has expired, it will not; only then is a client answered without knowing.
struct RequestForwarding: Sendable {
    /// Maximum size of a body that is forwarded, in bytes; requests with larger ones are executed here.
    static let maximumBody = 256 << 10
    /// Maximum size of a reply's body, in bytes: with its head, it fits into a message of 1 MiB.
    static let maximumReply = 960 << 10
    /// Longer than the other node waits for the log before it refuses a change, and than a claim lasts.
    static let timeout = Duration.seconds(12)
    /// Number of times that a request is passed on, if it is refused each time because others write.
    ///
    /// Many: to execute it here would be such a write for the requests of others, and slow down the hub under load.
    static let maximumAttempts = 30

    enum Passing {
        case answered(Response)
        /// The request is to be executed here; its body may have been read.
        case local(Request)
    }

    let writers: WriterWatch
    let channel: any NodeChannel
    let served: ServedHubs

    /// Passes a request on, if another node writes.
    ///
    /// `isRepeatable` is true if the request is executed once even if two nodes try.
    ///
    /// - Throws: 503 if the other node does not answer and may have executed the request; the errors of reading a body.
    func pass(
        _ request: Request,
        _ context: HubRequestContext,
        isRepeatable: Bool
    ) async throws -> Passing {
        guard !context.isForwarded, writers.otherWriter != nil, fits(request) else { return .local(request) }
        let body = ByteBuffer(bytes: try await request.bytes(limit: Self.maximumBody))
        let local = Passing.local(Request(head: request.head, body: RequestBody(buffer: body)))
        let end = ContinuousClock.now + Self.timeout
        var newestEntry: UInt64 = 0
        for _ in 0..<Self.maximumAttempts {
            guard let writer = writers.otherWriter, .now < end else { break }
            newestEntry = max(newestEntry, served.store.newestEntry)
            let forwarded = ForwardedRequest(
                head: request.head,
                peer: context.peer,
                body: body,
                fence: writer.claim.map { ForwardedRequest.Fence(claim: $0, newestEntry: newestEntry) }
            )
            guard let answer = try await ask(writer, forwarded, until: end) else {
                if isRepeatable { return local }
                throw Self.unknown
            }
            // The node does not listen, is stopping, or does not know the kind of request.
            guard !answer.isEmpty else {
                writers.forget(writer.node)
                continue
            }
            guard let reply = try? ForwardedReply(encoded: answer) else { throw Self.unknown }
            guard let refusal = reply.refusal else { return .answered(await response(to: reply)) }
            newestEntry = max(newestEntry, reply.position)
            if let claim = refusal.claim {
                writers.note(claim, since: claim.since, of: writer.node)
            } else {
                writers.forget(writer.node)
            }
        }
        return local
    }

    /// Passes a request to a node.
    ///
    /// - Returns: The answer, which is empty if the node did not get the request; `nil` if there is none, and the node will
    ///   not execute the request any more.
    private func ask(
        _ writer: WriterClaims.Heard,
        _ request: ForwardedRequest,
        until end: ContinuousClock.Instant
    ) async throws -> [UInt8]? {
        do throws(NodeChannelError) {
            return try await channel.request(request.encoded, of: writer.node, timeout: end - .now) { [writers] in
                writers.isSilent(writer.node)
            }
        } catch .absent {
            return []
        } catch {
            // At once only if this node knows that the claim has expired there.
            await writers.expiry(of: writer)
            return nil
        }
    }

    /// True if the request can be read completely, and sent in one message.
    private func fits(_ request: Request) -> Bool {
        // The length of a body in chunks is not known before the body has been read.
        guard request.headers[.transferEncoding] == nil else { return false }
        guard let length = request.headers[.contentLength] else {
            return [.get, .head, .delete].contains(request.method)
        }
        return Int(length) ?? .max <= Self.maximumBody
    }

    /// Returns the response when this node has the change, so that a client can read here what it has written.
    private func response(to reply: ForwardedReply) async -> Response {
        // The change has been made, even if this node cannot follow now.
        if served.store.head.number < reply.position { try? await served.writer.catchUp(to: .entry(reply.position)) }
        return reply.response
    }

    private static let unknown = ProtocolError.unavailable(
        "The node that writes has not answered in time, and may have executed the request; try again shortly."
    )
}
