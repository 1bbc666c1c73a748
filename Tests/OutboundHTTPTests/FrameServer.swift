import Certificates
import Foundation
import HubTestServer
import NIOCore
import NIOPosix
import NIOSSL
import NetworkAddresses
import Synchronization

/// A server over TLS that answers each frame of HTTP/2 as a script says, also as no library would.
final class FrameServer: Sendable {
    struct Frame: Sendable {
        let connection: Int
        let type: UInt8
        let flags: UInt8
        let stream: UInt32
        let payload: [UInt8]

        var isRequest: Bool { type == 1 }
        var isPing: Bool { type == 6 && flags & 1 == 0 }

        /// The preface of HTTP/2, sent to a server that does not speak it.
        static func preface(_ connection: Int) -> Frame {
            Frame(connection: connection, type: 0xFF, flags: 0, stream: 0, payload: [])
        }
    }

    struct Answer: Sendable {
        var bytes: [UInt8] = []
        var ends = false

        static let nothing = Answer()
        static let end = Answer(ends: true)
        static func bytes(_ bytes: [UInt8]...) -> Answer { Answer(bytes: Array(bytes.joined())) }
    }

    typealias Script = @Sendable (Frame) -> Answer

    let port: Int
    /// A file with the authority that has signed the server's certificate.
    let authorities: String
    /// All frames that clients have sent.
    let frames = Counter<Frame>()
    private let folder: ScratchFolder
    private let listener: any Channel

    /// Starts a server; `protocols` are those that it chooses from, and `greeting` the first bytes on each connection, by
    /// default settings without any.
    ///
    /// With `http1` it speaks HTTP/1.1 alone: requests with the body `{}` get these bytes, and everything else the end.
    init(
        protocols: [String] = ["h2"],
        greeting: [UInt8] = HTTP2Bytes.frame(4, flags: 0, stream: 0, []),
        http1: [UInt8]? = nil,
        _ script: @escaping Script = { _ in .end }
    ) async throws {
        folder = try ScratchFolder()
        authorities = folder.file("ca.pem")
        let authority = try CertificateAuthority(host: "test", now: Date())
        try Data(authority.certificateText.utf8).write(to: URL(fileURLWithPath: authorities))
        let identity = try authority.issue(for: [HostName("127.0.0.1")].compactMap(\.self), now: Date())
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(identity.chain.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.privateKey.utf8), format: .pem))
        )
        configuration.applicationProtocols = protocols
        let context = try NIOSSLContext(configuration: configuration)
        let frames = frames
        let count = Atomic(0)
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let number = count.add(1, ordering: .relaxed).newValue
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: context),
                        FrameHandler(number, http1 == nil ? greeting : [], http1, frames, script),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    deinit { listener.close(promise: nil) }

    var url: String { "https://127.0.0.1:\(port)/" }

    /// The connections on which requests have come.
    var connections: Set<Int> { Set(frames.elements.filter(\.isRequest).map(\.connection)) }
}

private final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: Int
    private let greeting: [UInt8]
    private let http1: [UInt8]?
    private let frames: Counter<FrameServer.Frame>
    private let script: FrameServer.Script
    private var bytes = ByteBuffer()
    private var hasPreface = false

    init(
        _ connection: Int,
        _ greeting: [UInt8],
        _ http1: [UInt8]?,
        _ frames: Counter<FrameServer.Frame>,
        _ script: @escaping FrameServer.Script
    ) {
        self.connection = connection
        self.greeting = greeting
        self.http1 = http1
        self.frames = frames
        self.script = script
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(NIOAny(ByteBuffer(bytes: greeting)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes.writeImmutableBuffer(unwrapInboundIn(data))
        if let http1 { return answer(http1, context) }
        if !hasPreface {
            // `PRI * HTTP/2.0` and so on (RFC 9113 §3.4).
            guard bytes.readSlice(length: 24) != nil else { return }
            hasPreface = true
        }
        while let frame = nextFrame() {
            let answer = script(frame)
            frames.append(frame)
            context.writeAndFlush(NIOAny(ByteBuffer(bytes: answer.bytes)), promise: nil)
            if answer.ends { return context.close(promise: nil) }
        }
    }

    private func answer(_ reply: [UInt8], _ context: ChannelHandlerContext) {
        let text = String(buffer: bytes)
        if text.hasPrefix("PRI ") { frames.append(.preface(connection)) }
        guard text.hasPrefix("POST ") else { return context.close(promise: nil) }
        guard text.hasSuffix("\r\n\r\n{}") else { return }
        bytes.clear()
        context.writeAndFlush(NIOAny(ByteBuffer(bytes: reply)), promise: nil)
    }

    private func nextFrame() -> FrameServer.Frame? {
        guard let head = bytes.getBytes(at: bytes.readerIndex, length: 9) else { return nil }
        let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.readableBytes >= 9 + length, bytes.readSlice(length: 9) != nil,
            let payload = bytes.readBytes(length: length)
        else { return nil }
        let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return FrameServer.Frame(
            connection: connection,
            type: head[3],
            flags: head[4],
            stream: stream,
            payload: payload
        )
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
