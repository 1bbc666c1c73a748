import HubProtocol
import HummingbirdCore
import Logging
import NetworkAddresses
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import NIOSSL
import WebEdge

/// Holds back the first bytes of a connection until they show whether the client wants TLS or a stream.
///
/// Inside TLS a second one examines the decrypted bytes.
final class RequestSniffer: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// A longer request line is not that of a stream.
    private static let maximumRequestLine = 2_048
    /// First byte of a TLS handshake record (RFC 8446 §5.1), and of no HTTP request.
    private static let handshake: UInt8 = 0x16

    private let kinds: ProtocolDetectingChannel.Kinds
    private let became: EventLoopPromise<ProtocolDetectingChannel.Outcome>
    private let isWithinTLS: Bool
    private var held = ByteBuffer()
    private var isDecided = false
    /// True once the bytes of the client have begun.
    private var hasReadProxyHeader = false
    /// The time by which the head of the first request must have arrived.
    private var deadline = NIODeadline.distantFuture
    private var timeout: Scheduled<Void>?

    init(
        _ kinds: ProtocolDetectingChannel.Kinds,
        isWithinTLS: Bool = false,
        became: EventLoopPromise<ProtocolDetectingChannel.Outcome>
    ) {
        self.kinds = kinds
        self.isWithinTLS = isWithinTLS
        self.became = became
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.now + TimeAmount(kinds.edge.limits.head)
        timeout = context.eventLoop.scheduleTask(deadline: deadline) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
        if !isDecided { became.succeed(.nothing) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        held.writeBuffer(&bytes)
        guard !isDecided, readProxyHeader(context) else { return }
        if let tls = kinds.edge.tls, !isWithinTLS {
            if held.readableBytesView.first == Self.handshake { return decide(context) { try startTLS(context, tls) } }
            if !takesPlainHTTP(context.channel) { return decide(context) { try refusePlainHTTP(context) } }
        }
        let line = held.readableBytesView.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        guard line.count < held.readableBytes || line.count > Self.maximumRequestLine else { return }
        let streams = kinds.streams.flatMap { $0.isStreamRequest(line) ? $0 : nil }
        decide(context) { if let streams { try startStream(context, streams) } else { try startHTTP(context) } }
    }

    /// Reads the header of a TCP balancer, which comes before TLS.
    ///
    /// From another machine than a trusted proxy, it is a client that claims to be somebody else.
    ///
    /// - Returns: True if the bytes of the client have begun.
    private func readProxyHeader(_ context: ChannelHandlerContext) -> Bool {
        guard !hasReadProxyHeader, !isWithinTLS else { return true }
        let edge = kinds.edge
        switch ProxyHeader.read(held.readableBytesView) {
        case .incomplete: return false
        case .none: hasReadProxyHeader = true
        case .header(let client, let length) where edge.client.isProxy(context.channel):
            hasReadProxyHeader = true
            held.moveReaderIndex(forwardBy: length)
            guard let client else { break }
            context.channel.setClientAddress(client)
            guard edge.connections.reenter(context.channel, from: edge.client.client(of: context.channel)) else {
                return close(context)
            }
        case .header:
            edge.logger.debug("a PROXY header came from a peer that is not in 'trusted-proxies'")
            return close(context)
        case .malformed:
            edge.logger.debug("a PROXY header is malformed")
            return close(context)
        }
        return held.readableBytes > 0
    }

    private func close(_ context: ChannelHandlerContext) -> Bool {
        isDecided = true
        became.succeed(.nothing)
        context.close(promise: nil)
        return false
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        if !isDecided { became.succeed(.nothing) }
        isDecided = true
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if !isDecided, event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        if !isDecided, case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Handles a connection that ends without closing TLS; other errors go to the handlers that replaced this one.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isDecided { context.fireErrorCaught(error) } else { context.close(promise: nil) }
    }

    // MARK: - Kinds of connection

    /// Adds handlers after this one, and hands over to them with the bytes received.
    private func decide(_ context: ChannelHandlerContext, _ become: () throws -> Void) {
        isDecided = true
        timeout?.cancel()
        do {
            try become()
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        } catch {
            became.succeed(.nothing)
            kinds.close(context.channel, for: error)
        }
    }

    private func startTLS(_ context: ChannelHandlerContext, _ tls: CertificateReloader) throws {
        let pipeline = context.pipeline.syncOperations
        try pipeline.addHandler(NIOSSLServerHandler(context: tls.context))
        try pipeline.addHandler(TLSHandshake(kinds, became: became))
    }

    private func startStream(_ context: ChannelHandlerContext, _ streams: StreamGate) throws {
        let pipeline = context.pipeline.syncOperations
        try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()), name: StreamGate.decoderName)
        try pipeline.addHandler(StreamRequestHandler(gate: streams, deadline: deadline))
        became.succeed(.nothing)
    }

    private func startHTTP(_ context: ChannelHandlerContext) throws {
        let channel = context.channel
        let setup = kinds.http1.setup(channel: channel, logger: kinds.edge.logger)
        let pipeline = channel.pipeline.syncOperations
        let handler = try pipeline.handler(type: RequestBodyHandler.self)
        handler.expectHead(by: deadline)
        let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
        try pipeline.addHandler(HostCheck(handler), position: .before(codec))
        setup.whenFailure { [kinds] in kinds.close(channel, for: $0) }
        setup.map { .http1($0) }.cascade(to: became)
    }

    private func refusePlainHTTP(_ context: ChannelHandlerContext) throws {
        try context.pipeline.syncOperations.addHandler(PlainRefusal())
        became.succeed(.nothing)
    }

    private func takesPlainHTTP(_ channel: any Channel) -> Bool {
        kinds.edge.takesPlainHTTP || channel.localAddress?.networkAddress?.isLoopback ?? false
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
