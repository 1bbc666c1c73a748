import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import WebEdge

/// A connection whose first bytes decide its kind: TLS or plain, a stream on a bare channel, or ordinary HTTP.
///
/// With Hummingbird's body writers a delivery costs four times the processor time, and an idle stream four times the
/// memory.
struct ProtocolDetectingChannel: ServerChildChannel {
    /// The kind that a connection turned out to have, once its first bytes have arrived.
    enum Outcome: Sendable {
        case http1(HTTP1Channel.Value)
        case http2(HTTP2Channel.Value)
        /// A stream, or nothing: the connection ended before its request, or was refused.
        case nothing
    }

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let outcome: EventLoopFuture<Outcome>
    }

    /// The kinds of connection that are accepted.
    struct Kinds: Sendable {
        let http1: HTTP1Channel
        let http2: HTTP2Channel
        /// `nil` if no streams are served.
        let streams: StreamGate?
        let edge: ServerEdge

        fileprivate static let failure: Logger.Message = "a connection could not be set up"

        /// Closes a connection whose handlers could not be added, with a warning unless its client has gone meanwhile.
        func close(_ channel: any Channel, for error: any Error) {
            let level: Logger.Level = channel.isActive ? .warning : .debug
            edge.logger.log(level: level, Self.failure, metadata: ["error.reason": "\(error)"])
            channel.close(promise: nil)
        }
    }

    let kinds: Kinds

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let promise = channel.eventLoop.makePromise(of: Outcome.self)
        guard kinds.edge.connections.enter(channel, from: kinds.edge.client.client(of: channel)) else {
            promise.succeed(.nothing)
            // The channel is not registered yet, and could not be closed.
            channel.eventLoop.execute { channel.close(promise: nil) }
            return channel.eventLoop.makeSucceededFuture(Value(channel: channel, outcome: promise.futureResult))
        }
        return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(RequestSniffer(kinds, became: promise))
            return Value(channel: channel, outcome: promise.futureResult)
        }.flatMapErrorThrowing { error in
            // The server drops both the connection and the error.
            promise.succeed(.nothing)
            kinds.edge.logger.warning(Kinds.failure, metadata: ["error.reason": "\(error)"])
            channel.close(promise: nil)
            throw error
        }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            switch try? await value.outcome.get() {
            case .http1(let http1): await kinds.http1.handle(value: http1, logger: logger)
            case .http2(let http2): await kinds.http2.handle(value: http2, logger: logger)
            case .nothing, nil: break
            }
        }
    }
}

extension ProtocolDetectingChannel {
    /// Time for the clients of an HTTP/2 connection to finish their requests at a stop.
    private static let gracefulClose = Duration.seconds(5)

    init(_ responder: @escaping HTTPChannelHandler.Responder, streams: StreamGate?, edge: ServerEdge) {
        let limits = edge.limits
        kinds = Kinds(
            http1: HTTP1Channel(
                responder: responder,
                configuration: .init(
                    additionalChannelHandlers: [RequestBodyHandler(.http1, limits)],
                    idleTimeout: TimeAmount(limits.idle)
                )
            ),
            http2: HTTP2Channel(
                responder: responder,
                configuration: HTTP2ChannelConfiguration(
                    idleTimeout: limits.idle,
                    gracefulCloseTimeout: Self.gracefulClose,
                    streamConfiguration: .init(
                        additionalChannelHandlers: [RequestBodyHandler(.http2, limits)],
                        idleTimeout: TimeAmount(limits.idle)
                    )
                )
            ),
            streams: streams,
            edge: edge
        )
    }
}
