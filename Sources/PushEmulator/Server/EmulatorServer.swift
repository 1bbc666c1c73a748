import Certificates
import HubProtocol
import Logging
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import WebEdge

/// The parts of the emulator that every connection uses.
struct ServerContext: Sendable {
    let model: EmulatorModel
    let limits: EmulatorLimits
    let now: @Sendable () -> Timestamp
    let logger: Logger
}

/// A server of HTTP/2 and HTTP/1.1 over TLS on the loopback interface.
final class EmulatorServer: Sendable {
    /// Other machines cannot reach it.
    private static let host = "127.0.0.1"
    private static let backlog: ChannelOptions.Types.BacklogOption.Value = 1_024
    /// Flow control window of a connection, in bytes.
    private static let window = 1 << 20

    private let listener: any Channel
    private let connections: ConnectionPlaces

    let port: Int

    private init(_ listener: any Channel, _ connections: ConnectionPlaces, port: Int) {
        self.listener = listener
        self.connections = connections
        self.port = port
    }

    static func start(_ identity: ServerIdentity, port: Int, _ context: ServerContext) async throws -> EmulatorServer {
        let tls = try tlsContext(identity)
        let connections = ConnectionPlaces(maximum: context.limits.connections)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                guard connections.enter(channel, .busy) else {
                    return channel.eventLoop.makeFailedFuture(TooManyConnections(maximum: context.limits.connections))
                }
                return configure(channel, tls, context)
            }
            .bind(host: host, port: port)
            .flatMap { listener in
                // After NIO's own handler, which reports connections that failed.
                listener.pipeline.addHandler(ListenerErrors(context.logger)).map { listener }
            }
            .get()
        guard let bound = listener.localAddress?.port else {
            try await listener.close()
            throw ChannelError.unknownLocalAddress
        }
        return EmulatorServer(listener, connections, port: bound)
    }

    /// Stops listening and closes all connections; pending requests get no reply.
    func stop() async {
        try? await listener.close().get()
        let all = connections.close()
        for channel in all {
            channel.eventLoop.execute {
                HTTP2Ending.goAway(on: channel, after: .rootStream)
                channel.close(promise: nil)
            }
        }
        for channel in all { try? await channel.closeFuture.get() }
    }

    private static func tlsContext(_ identity: ServerIdentity) throws -> NIOSSLContext {
        var configuration = try identity.tlsConfiguration()
        configuration.applicationProtocols = NIOHTTP2SupportedALPNProtocols
        // APNs accepts client certificates, and a developer's may come from any authority.
        configuration.certificateVerification = .optionalVerification
        configuration.shutdownTimeout = .seconds(1)
        return try NIOSSLContext(configuration: configuration)
    }

    private static func configure(
        _ channel: any Channel,
        _ tls: NIOSSLContext,
        _ context: ServerContext
    ) -> EventLoopFuture<Void> {
        let limits = context.limits
        let facts = ConnectionFacts(origin: "https://\(host):\(channel.localAddress?.port ?? 0)")
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16 << 10),
        ]
        connection.targetWindowSize = window
        // A hub that sends thousands of messages a second is not an attack.
        connection.controlFrameRateLimit.maximumCount = .max
        connection.maximumConnectionGlitches = .max
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = .max
        stream.streamErrorRateLimit.maximumCount = .max
        let (settings, streamSettings) = (connection, stream)
        return channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let handler = NIOSSLServerHandler(
                context: tls,
                customVerificationCallback: { _, promise in promise.succeed(.certificateVerified) }
            )
            try pipeline.addHandlers([
                handler, IdleStateHandler(allTimeout: TimeAmount(limits.idle)),
                ConnectionGuard(handshake: TimeAmount(limits.handshake), facts: facts),
            ])
        }.flatMap {
            channel.configureCommonHTTPServerPipeline(
                connectionConfiguration: settings,
                streamConfiguration: streamSettings,
                h2ConnectionChannelConfigurator: { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            HTTP2Ending(patience: TimeAmount(limits.farewell))
                        )
                    }
                },
                configurator: { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(RequestHandler(context, facts))
                    }
                }
            )
        }
    }
}

/// The reason for closing a connection beyond the limit.
private struct TooManyConnections: Error, CustomStringConvertible {
    let maximum: Int

    var description: String { "there are \(maximum) connections already" }
}

/// Logs connections that were accepted and closed at once, because they could not be set up.
private final class ListenerErrors: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel

    private let logger: Logger

    init(_ logger: Logger) {
        self.logger = logger
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        logger.warning("a connection could not be set up", metadata: ["error.reason": "\(error)"])
    }
}
