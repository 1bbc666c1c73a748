import Certificates
import HubProtocol
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

@testable import PushEmulator

/// A connection of HTTP/2 whose streams and frames a test controls one by one.
final class RawConnection: Sendable {
    private let channel: any Channel
    private let multiplexer: NIOHTTP2Handler.StreamMultiplexer
    private let goAways: AsyncStream<Int>

    private init(
        _ channel: any Channel,
        _ multiplexer: NIOHTTP2Handler.StreamMultiplexer,
        _ goAways: AsyncStream<Int>
    ) {
        self.channel = channel
        self.multiplexer = multiplexer
        self.goAways = goAways
    }

    /// Connects, with a client certificate if there is one.
    static func open(_ port: Int, identity: ServerIdentity? = nil) async throws -> RawConnection {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["h2"]
        if let identity {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.chain.utf8))
                .map { .certificate($0) }
            configuration.privateKey = .privateKey(
                try NIOSSLPrivateKey(bytes: Array(identity.privateKey.utf8), format: .pem)
            )
        }
        let tls = try NIOSSLContext(configuration: configuration)
        let (goAways, continuation) = AsyncStream<Int>.makeStream()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
                    let http2 = NIOHTTP2Handler(mode: .client, eventLoop: channel.eventLoop) { stream in
                        stream.eventLoop.makeSucceededVoidFuture()
                    }
                    try pipeline.addHandlers([http2, GoAwayCollector(continuation)])
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let multiplexer = try await channel.pipeline.handler(type: NIOHTTP2Handler.self).flatMap(\.multiplexer).get()
        return RawConnection(channel, multiplexer, goAways)
    }

    deinit { channel.close(promise: nil) }

    /// Waits until the server has closed the connection.
    func closed() async { try? await channel.closeFuture.get() }

    /// Waits for a GOAWAY and returns its last stream; `nil` if the connection ends without one.
    func lastStreamOfGoAway() async -> Int? {
        for await stream in goAways { return stream }
        return nil
    }

    /// Sends a whole request.
    func post(
        _ path: String,
        _ headers: [(name: String, value: String)],
        _ body: [UInt8]
    ) async throws -> RawStream {
        let stream = try await begin(path, headers)
        try await stream.send(body, ends: true)
        return stream
    }

    /// Sends a request's head.
    func begin(_ path: String, _ headers: [(name: String, value: String)]) async throws -> RawStream {
        let (frames, continuation) = AsyncStream<HTTP2Frame.FramePayload>.makeStream()
        let stream = try await multiplexer.createStreamChannel { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(FrameCollector(continuation))
            }
        }.get()
        let pseudo = [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        let fields = HPACKHeaders(pseudo + headers.map { ($0.name, $0.value) })
        try await stream.writeAndFlush(HTTP2Frame.FramePayload.headers(.init(headers: fields)))
        return RawStream(channel: stream, frames: frames)
    }

    private final class GoAwayCollector: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        private let continuation: AsyncStream<Int>.Continuation

        init(_ continuation: AsyncStream<Int>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .goAway(let last, _, _) = unwrapInboundIn(data).payload { continuation.yield(Int(last)) }
        }

        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }

    /// Ends with the stream.
    private final class FrameCollector: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload

        private let continuation: AsyncStream<HTTP2Frame.FramePayload>.Continuation

        init(_ continuation: AsyncStream<HTTP2Frame.FramePayload>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { continuation.yield(unwrapInboundIn(data)) }

        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// One request.
struct RawStream: Sendable {
    let channel: any Channel
    let frames: AsyncStream<HTTP2Frame.FramePayload>

    struct Reply: Sendable {
        let status: Int
        let text: String
    }

    func send(_ body: [UInt8], ends: Bool) async throws {
        let data = IOData.byteBuffer(ByteBuffer(bytes: body))
        try await channel.writeAndFlush(HTTP2Frame.FramePayload.data(.init(data: data, endStream: ends)))
    }

    /// The reply up to its end; `nil` if the stream ends without one.
    func reply() async -> Reply? {
        var (status, text) = (Int?.none, "")
        for await frame in frames {
            switch frame {
            case .headers(let head):
                status = head.headers.first(name: ":status").flatMap { Int($0) }
                if head.endStream, let status { return Reply(status: status, text: text) }
            case .data(let part):
                if case .byteBuffer(let buffer) = part.data { text += String(buffer: buffer) }
                if part.endStream, let status { return Reply(status: status, text: text) }
            default: break
            }
        }
        return nil
    }
}
