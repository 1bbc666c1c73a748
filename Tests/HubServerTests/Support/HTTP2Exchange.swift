import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

/// One request over HTTP/2 on TLS, on a connection of its own, its headers as they are given.
enum HTTP2Exchange {
    /// - Parameters:
    ///   - port: The hub's, on loopback.
    ///   - headers: Those that begin with a colon come first.
    ///   - body: Is sent in one frame, so it is no longer than 16 KiB.
    /// - Returns: The reply, its headers' names in lower case.
    /// - Throws: When the connection cannot be made or ends.
    static func send(_ port: Int, headers: [(name: String, value: String)], body: String) async throws -> Reply {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // The hub's clock, and so its certificate, is years ahead.
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["h2"]
        let tls = try NIOSSLContext(configuration: configuration)
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
                    let http2 = NIOHTTP2Handler(mode: .client, eventLoop: channel.eventLoop) { stream in
                        stream.eventLoop.makeSucceededVoidFuture()
                    }
                    try pipeline.addHandler(http2)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        defer { connection.close(promise: nil) }
        let (frames, continuation) = AsyncStream<HTTP2Frame.FramePayload>.makeStream()
        let stream = try await connection.pipeline.handler(type: NIOHTTP2Handler.self).flatMap(\.multiplexer)
            .flatMap { multiplexer in
                multiplexer.createStreamChannel { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Collector(continuation))
                    }
                }
            }.get()
        let fields = HPACKHeaders(headers.map { ($0.name, $0.value) })
        let isShort = body.isEmpty
        try await stream.writeAndFlush(HTTP2Frame.FramePayload.headers(.init(headers: fields, endStream: isShort)))
        if !isShort {
            let data = IOData.byteBuffer(ByteBuffer(string: body))
            try await stream.writeAndFlush(HTTP2Frame.FramePayload.data(.init(data: data, endStream: true)))
        }
        var (status, received, text) = (0, [String: String](), "")
        for await frame in frames {
            switch frame {
            case .headers(let reply):
                for field in reply.headers { received[field.name] = field.value }
                status = received[":status"].flatMap { Int($0) } ?? status
            case .data(let part):
                if case .byteBuffer(let buffer) = part.data { text += String(buffer: buffer) }
            default: break
            }
        }
        return Reply(status: status, headers: received, body: text)
    }

    /// Ends with the stream.
    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload

        private let continuation: AsyncStream<HTTP2Frame.FramePayload>.Continuation

        init(_ continuation: AsyncStream<HTTP2Frame.FramePayload>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { continuation.yield(unwrapInboundIn(data)) }

        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
