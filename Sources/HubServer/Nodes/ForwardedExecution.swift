import HTTPTypes
import HubProtocol
import HubStore
import Hummingbird
import Logging
import NIOCore

/// Executes requests that other nodes have passed on.
struct ForwardedExecution: Sendable {
    /// Time after a pause in which requests without a fence are refused: as long as an earlier version waits for an
    /// answer, so that requests from before the pause have arrived.
    static let unfencedPatience = RequestForwarding.timeout

    let responder: RouterResponder<HubRequestContext>
    let applications: [MountedApplication]
    let requests: MountedRequests
    let writers: WriterWatch
    let others: OtherNodes
    let served: ServedHubs

    /// Executes an encoded request, and returns the encoded reply; no bytes for a request that cannot be read.
    ///
    /// A request of an earlier version `isFenced` not.
    func answer(_ bytes: ArraySlice<UInt8>, isFenced: Bool) async -> [UInt8] {
        guard let forwarded = try? ForwardedRequest(encoded: bytes, isFenced: isFenced) else { return [] }
        let fence = RequestFence { mayExecute(forwarded.fence) }
        let (head, body) = await RequestFence.$current.withValue(fence) { await execute(forwarded, fence) }
        let hasRefused = fence.hasRefused
        if hasRefused { served.logger.debug("refused a request that came late from another node") }
        return ForwardedReply(
            head: head,
            body: body,
            position: served.store.head.number,
            refusal: isFenced && hasRefused ? ForwardedReply.Refusal(claim: writers.claim) : nil
        ).encoded
    }

    private func execute(_ forwarded: ForwardedRequest, _ fence: RequestFence) async -> (HTTPResponse, ByteBuffer) {
        let context = HubRequestContext(logger: served.logger, forwardedFrom: forwarded.peer)
        let request = Request(head: forwarded.head, body: RequestBody(buffer: forwarded.body))
        do {
            // Some requests have consequences before their first change, such as counted quotas.
            try fence.check()
            let response =
                if let application = applications.first(where: { $0.serves(request) }) {
                    try await requests.answer(forwarded: request, for: application, context)
                } else {
                    try await responder.respond(to: request, context: context)
                }
            let body = ReplyCollector(limit: RequestForwarding.maximumReply)
            try await response.body.write(body)
            return (response.head, body.bytes)
        } catch {
            let refusal = error as? ProtocolError
            let reply = ErrorReply(refusal ?? .internalError("The reply cannot be passed on to another node."))
            return (reply.response.head, reply.bytes)
        }
    }

    /// True if a request is not late.
    ///
    /// The claim in a request tells its age. The newest entry tells whether another node has written since, and thereby
    /// also notices a pause that this node's clock does not count.
    private func mayExecute(_ fence: ForwardedRequest.Fence?) -> Bool {
        guard let fence else {
            return others.hasUnfenced && writers.isAwake(for: Self.unfencedPatience)
        }
        return writers.holds(fence.claim) && served.store.logState.map { $0.newestForeign <= fence.newestEntry } ?? true
    }
}
