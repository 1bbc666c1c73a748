import HTTPTypes
import HubProtocol
import HubRouting
import HubStreams
import Hummingbird
import NIOCore
import WebEdge

/// An installation's stream, and the same events as a long poll.
///
/// A stream request that is the first on its connection never arrives here: ``ProtocolDetectingChannel`` handles it. These
/// routes are for connections that a client or a proxy reuses.
enum StreamRoutes {
    /// Longest wait of a poll, in seconds.
    static let maximumWait = 60
    static let defaultWait = 30

    static let routes = [
        Route(method: .get, path: "/installations/:id/stream", right: .listen, isForWebApps: true) { request in
            if let head = try head(for: request) { return head }
            return try await opening(request).response()
        },
        Route(method: .get, path: "/installations/:id/pending", right: .listen, isForWebApps: true) { request in
            if let head = try head(for: request) { return head }
            let wait = TimeAmount.seconds(Int64(try wait(request)))
            let (output, session) = try await opening(request, isPoll: true).openBody()
            defer { output.end() }
            session.loop.eventLoop.execute { session.loop.beat(session, in: wait) }
            var events = ByteBuffer()
            while events.readableBytes == 0, let bytes = await output.next() {
                events = bytes.droppingRetry
            }
            return Response(status: .ok, headers: StreamOpening.headers, body: .init(byteBuffer: events))
        },
    ]

    /// The answer to HEAD, which opens no stream; `nil` for GET.
    private static func head(for request: HubRequest) throws(ProtocolError) -> Response? {
        guard request.request.method == .head else { return nil }
        _ = try request.installationID()
        return Response(status: .ok, headers: StreamOpening.headers)
    }

    private static func wait(_ request: HubRequest) throws(ProtocolError) -> Int {
        guard let text = request.query["wait"] else { return defaultWait }
        guard let wait = Int(text), (0...maximumWait).contains(wait) else {
            throw .badRequest("'wait' must be a number of seconds from 0 to \(maximumWait), not '\(text.prefix(20))'.")
        }
        return wait
    }

    private static func opening(_ request: HubRequest, isPoll: Bool = false) throws(ProtocolError) -> StreamOpening {
        StreamOpening(
            operations: request.operations,
            installation: try request.installationID(),
            channel: request.channel,
            lastEventID: request.request.headers[named: HeaderName.lastEventID],
            hasHeartbeatEvents: try StreamHeartbeat.isEvent(isPoll ? nil : request.query[StreamHeartbeat.parameter]),
            isPoll: isPoll
        )
    }
}

extension ByteBuffer {
    /// The output without the initial `retry:` block, which alone does not end a poll.
    fileprivate var droppingRetry: ByteBuffer {
        var rest = self
        let retry = EventEncoding.retry.readableBytesView
        if rest.readableBytesView.starts(with: retry) { rest.moveReaderIndex(forwardBy: retry.count) }
        return rest
    }
}
