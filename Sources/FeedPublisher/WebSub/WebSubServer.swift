internal import Feeds
internal import HTTPTypes
internal import HubProtocol
package import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
internal import WebEdge

/// The callback server, through which feeds' hubs reach a publisher that keeps running.
///
/// A path is accepted if its last part belongs to a subscription: proxies may change the rest. Other requests get 404.
package enum WebSubServer {
    /// Time after which a hub that sends nothing in the middle of a request is disconnected.
    private static let idleTimeout: TimeAmount = .seconds(30)
    /// Time for a whole delivery: without a limit, a slow one would hold its place for ever.
    private static let bodyTimeout: Duration = .seconds(60)
    /// Maximum number of connections; a further one replaces an idle one (`ConnectionPlaces`).
    static let maximumConnections = 256

    /// Listens on an address of this machine, and calls `onRunning` with the port.
    package static func application(
        _ watch: PublishWatch,
        host: String,
        port: Int,
        logger: Logger,
        onRunning: @escaping @Sendable (Int) -> Void
    ) -> some ApplicationProtocol {
        let router = Router()
        router.get("**") { request, _ in
            response(watch.answer(path(request), query: request.uri.query ?? ""))
        }
        router.post("**") { request, _ in
            let delivery = WebSubDelivery(path: path(request)) { request.headers[named: $0] }
            return response(await watch.take(delivery) { try await body(request) })
        }
        let connections = ConnectionPlaces(maximum: maximumConnections)
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        return Application(
            router: router,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [CallbackDeadlines(connections)],
                    idleTimeout: idleTimeout
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port),
                serverName: "newswire"
            ),
            onServerRunning: { channel in onRunning(channel.localAddress?.port ?? 0) },
            logger: quiet
        )
    }

    private static func path(_ request: Request) -> String {
        request.uri.path.split(separator: "/").last.map(String.init) ?? ""
    }

    /// Reads a body; `nil` if it is larger than a feed may be.
    ///
    /// - Throws: An error if the body does not arrive within ``bodyTimeout``, or the connection ends.
    private static func body(_ request: Request) async throws -> [UInt8]? {
        try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await collected(request) }
            group.addTask {
                try await Task.sleep(for: bodyTimeout)
                throw HTTPError(.requestTimeout)
            }
            return try await group.next() ?? nil
        }
    }

    private static func collected(_ request: Request) async throws -> [UInt8]? {
        do {
            return try await request.bytes(limit: FeedReader.maximumBytes)
        } catch is ProtocolError {
            return nil
        }
    }

    private static func response(_ answer: WebSubAnswer) -> Response {
        let status = HTTPResponse.Status(code: answer.status)
        // A challenge is text from a third party.
        var response = Response(answer.body, status: status, cache: "no-store", forbidsSniffing: true)
        if let seconds = answer.retryAfter { response.headers[.retryAfter] = "\(seconds)" }
        return response
    }
}
