import HubProtocol
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// A connection whose first request decides what it becomes: a stream on a bare channel, or ordinary HTTP.
///
/// Hummingbird's body writers cost four times the processor time a delivery and four times the memory an idle stream.
struct SniffingChannel: ServerChildChannel {
    /// What a connection became, once its first bytes have come.
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        /// `nil` when it became a stream, or ended before its request.
        let http: EventLoopFuture<HTTP1Channel.Value?>
    }

    private let http: HTTP1Channel
    private let streams: StreamGate

    init(http: HTTP1Channel, streams: StreamGate) {
        self.http = http
        self.streams = streams
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let promise = channel.eventLoop.makePromise(of: HTTP1Channel.Value?.self)
        return channel.eventLoop.makeCompletedFuture {
            let sniffer = RequestSniffer(http: http, streams: streams, logger: logger, became: promise)
            try channel.pipeline.syncOperations.addHandler(sniffer)
            return Value(channel: channel, http: promise.futureResult)
        }
    }

    func handle(value: Value, logger: Logger) async {
        guard let http = try? await value.http.get() else { return }
        await self.http.handle(value: http, logger: logger)
    }
}

/// Holds the first bytes of a connection back until they tell whether a stream is asked for.
private final class RequestSniffer: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// A request line that is longer is not one of a stream.
    private static let maximumRequestLine = 2_048
    /// How long a connection may stay without a request line, and a stream request without the end of its head.
    static let patience = TimeAmount.seconds(60)

    private let http: HTTP1Channel
    private let streams: StreamGate
    private let logger: Logger
    private let became: EventLoopPromise<HTTP1Channel.Value?>
    private var held = ByteBuffer()
    private var isDecided = false
    private var timeout: Scheduled<Void>?

    init(
        http: HTTP1Channel,
        streams: StreamGate,
        logger: Logger,
        became: EventLoopPromise<HTTP1Channel.Value?>
    ) {
        self.http = http
        self.streams = streams
        self.logger = logger
        self.became = became
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
        if !isDecided { became.succeed(nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        held.writeBuffer(&bytes)
        guard !isDecided else { return }
        let line = held.readableBytesView.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        guard line.count < held.readableBytes || line.count > Self.maximumRequestLine else { return }
        isDecided = true
        decide(context, asksForStream: StreamGate.isStreamRequest(line))
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        if !isDecided { became.succeed(nil) }
        isDecided = true
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if !isDecided, event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        if !isDecided, case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    private func decide(_ context: ChannelHandlerContext, asksForStream: Bool) {
        timeout?.cancel()
        let pipeline = context.pipeline.syncOperations
        do {
            if asksForStream {
                try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()), name: StreamGate.decoderName)
                try pipeline.addHandler(StreamRequestHandler(gate: streams))
                became.succeed(nil)
                pipeline.removeHandler(context: context, promise: nil)
            } else {
                let channel = context.channel
                let setup = http.setup(channel: channel, logger: logger)
                setup.whenFailure { _ in channel.close(promise: nil) }
                setup.map { $0 }.cascade(to: became)
                pipeline.removeHandler(context: context, promise: nil)
            }
        } catch {
            became.succeed(nil)
            context.close(promise: nil)
        }
    }

    func removeHandler(context: ChannelHandlerContext, removalToken: ChannelHandlerContext.RemovalToken) {
        if held.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(held))
            context.fireChannelReadComplete()
        }
        held = ByteBuffer()
        context.leavePipeline(removalToken: removalToken)
    }
}

/// Reads the head of a stream request and hands the connection over, without its HTTP handlers.
private final class StreamRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let gate: StreamGate
    private var head: HTTPRequestHead?
    private var timeout: Scheduled<Void>?

    init(gate: StreamGate) {
        self.gate = gate
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head else { return }
            self.head = nil
            handOver(context, head)
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(in: RequestSniffer.patience) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// What comes is no HTTP, or more than a head may hold.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let refusal = ErrorReply(.badRequest("The request is not valid HTTP/1.1."))
        let channel = context.channel
        channel.writeAndFlush(refusal.wholeResponse).whenComplete { _ in channel.close(promise: nil) }
    }

    private func handOver(_ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
        let output = ChannelOutput(responses: gate.responses)
        let channel = context.channel
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(output)
            let decoder = try pipeline.context(name: StreamGate.decoderName)
            pipeline.removeHandler(context: decoder, promise: nil)
            pipeline.removeHandler(context: context, promise: nil)
            gate.serve(head, on: channel, output: output)
        } catch {
            channel.close(promise: nil)
        }
    }
}
