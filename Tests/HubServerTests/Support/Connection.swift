import Foundation
import HubProtocol
import HubRouting
import NIOCore
import NIOPosix
import NIOSSL
import ServerSentEvents
import StreamProbe

/// A TCP connection to a hub on loopback, of bytes as they are.
final class Connection: Sendable {
    let channel: any Channel
    let bytes: AsyncStream<[UInt8]>

    private init(channel: any Channel, bytes: AsyncStream<[UInt8]>) {
        self.channel = channel
        self.bytes = bytes
    }

    deinit { channel.close(promise: nil) }

    /// Connects, from `source` if that is given; with `tls` it speaks that, and what comes and goes is what is within.
    static func open(
        _ port: Int,
        host: String = "127.0.0.1",
        from source: String? = nil,
        reads: Bool = true,
        tls: NIOSSLContext? = nil
    ) async throws -> Connection {
        let (bytes, continuation) = AsyncStream<[UInt8]>.makeStream()
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        if let source { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: source, port: 0)) }
        let channel =
            try await bootstrap
            .channelOption(.autoRead, value: reads)
            .channelOption(.socketOption(.so_rcvbuf), value: reads ? 1 << 20 : 1 << 12)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        let handler = try NIOSSLClientHandler(context: tls, serverHostname: "localhost")
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(Collector(continuation))
                }
            }
            .connect(host: host, port: port).get()
        return Connection(channel: channel, bytes: bytes)
    }

    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// Says that no more will come, and goes on reading; the hub may have ended the connection before.
    func finishSending() async {
        try? await channel.setOption(.allowRemoteHalfClosure, value: true).get()
        try? await channel.close(mode: .output)
    }

    /// Ends as a machine that crashes does.
    func reset() async throws {
        if let socket = channel as? any SocketOptionProvider {
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await channel.close()
    }

    func startReading() async throws {
        try await channel.setOption(.autoRead, value: true).get()
    }

    func close() async throws { try await channel.close() }

    /// Reads until the server closes; the reply comes after so many others with a length.
    func reply(after others: Int = 0) async throws -> Reply {
        var all: [UInt8] = []
        for await bytes in bytes { all += bytes }
        for _ in 0..<others {
            guard let head = ReplyHead(all[...]) else { break }
            all.removeFirst(min(all.count, head.end + (head.headers["content-length"].flatMap { Int($0) } ?? 0)))
        }
        return try Reply(all)
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let continuation: AsyncStream<[UInt8]>.Continuation

        init(_ continuation: AsyncStream<[UInt8]>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            continuation.yield([UInt8](unwrapInboundIn(data).readableBytesView))
        }

        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

/// A whole response.
struct Reply: Sendable {
    let status: Int
    let headers: [String: String]
    let body: String

    struct Malformed: Error {
        let bytes: String
    }

    init(status: Int, headers: [String: String], body: String) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    init(_ bytes: [UInt8]) throws {
        guard let head = ReplyHead(bytes[...]) else { throw Malformed(bytes: String(decoding: bytes, as: UTF8.self)) }
        status = head.status
        headers = head.headers
        let body = bytes[head.end...]
        if head.isChunked {
            var decoder = ChunkDecoder()
            self.body = String(decoding: decoder.decode(body), as: UTF8.self)
        } else {
            self.body = String(decoding: body, as: UTF8.self)
        }
    }

    /// The refusal in the body.
    var error: ProtocolError? { ProtocolError(xml: body) }
}

struct ReplyHead {
    let status: Int
    let headers: [String: String]
    /// Where the body begins.
    let end: Int
    var isChunked: Bool { headers["transfer-encoding"] == "chunked" }

    /// `nil` while the head is not complete.
    init?(_ bytes: ArraySlice<UInt8>) {
        let mark = Array("\r\n\r\n".utf8)
        guard bytes.count >= 4 else { return nil }
        var index = bytes.startIndex
        while index + 4 <= bytes.endIndex, !bytes[index..<index + 4].elementsEqual(mark) { index += 1 }
        guard index + 4 <= bytes.endIndex else { return nil }
        let lines = String(decoding: bytes[..<index], as: UTF8.self).components(separatedBy: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        self.status = status
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces
            )
        }
        self.headers = headers
        end = index + 4
    }
}

/// The data of chunked transfer coding, however it is cut.
struct ChunkDecoder {
    private var held: [UInt8] = []
    private(set) var isAtEnd = false

    mutating func decode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        held += bytes
        var data: [UInt8] = []
        while !isAtEnd, let line = held.firstIndex(of: UInt8(ascii: "\n")) {
            let text = String(decoding: held[..<line], as: UTF8.self).trimmingCharacters(in: .whitespaces)
            guard let size = Int(text.trimmingCharacters(in: .newlines), radix: 16) else { break }
            guard size > 0 else {
                isAtEnd = true
                break
            }
            guard held.count >= line + 1 + size + 2 else { break }
            data += held[(line + 1)..<(line + 1 + size)]
            held.removeFirst(line + 1 + size + 2)
        }
        return data
    }
}

/// Reads events from a stream.
///
/// `@unchecked Sendable`: a test reads with one task at a time.
final class EventReader: @unchecked Sendable {
    let connection: Connection
    let head: ReplyHead
    private var iterator: AsyncStream<[UInt8]>.Iterator
    private var decoder = ServerSentEventDecoder(maximumEventBytes: 4 << 20)
    private var chunks: ChunkDecoder?
    private var events: [ServerSentEvent] = []

    struct Refused: Error {
        let reply: Reply
    }

    struct Ended: Error {}

    /// Reads a stream after so many whole replies with a length that come first on the connection.
    ///
    /// - Throws: ``Refused`` when the answer is not 200.
    init(_ connection: Connection, after replies: Int = 0) async throws {
        self.connection = connection
        iterator = connection.bytes.makeAsyncIterator()
        var bytes: [UInt8] = []
        var replies = replies
        while true {
            if let head = ReplyHead(bytes[...]) {
                let length = head.headers["content-length"].flatMap { Int($0) } ?? 0
                if replies > 0, bytes.count >= head.end + length {
                    replies -= 1
                    bytes.removeFirst(head.end + length)
                    continue
                }
                if replies == 0 {
                    self.head = head
                    break
                }
            }
            guard let more = await iterator.next() else {
                throw Reply.Malformed(bytes: String(decoding: bytes, as: UTF8.self))
            }
            bytes += more
        }
        guard head.status == 200 else {
            while let more = await iterator.next() { bytes += more }
            throw Refused(reply: try Reply(bytes))
        }
        if head.isChunked { chunks = ChunkDecoder() }
        try take(bytes[head.end...])
    }

    private func take(_ bytes: some Sequence<UInt8>) throws {
        events += try decoder.decode(chunks?.decode(bytes) ?? Array(bytes))
    }

    /// The next block, `nil` at the end of the stream.
    func next() async throws -> ServerSentEvent? {
        while events.isEmpty {
            guard chunks?.isAtEnd != true, let bytes = await iterator.next() else { return nil }
            try take(bytes)
        }
        return events.removeFirst()
    }

    /// The next message, passing over `retry:` and heartbeats.
    func message() async throws -> StreamEvent {
        while let event = try await next() {
            guard event.event == nil, let data = event.data else {
                if event.event != nil { throw Ended() }
                continue
            }
            return try StreamEvent(parsing: data)
        }
        throw Ended()
    }

    /// The next named event.
    func named() async throws -> (name: String, data: String) {
        while let event = try await next() {
            if let name = event.event { return (name, event.data ?? "") }
        }
        throw Ended()
    }

    /// Titles of the messages up to, and without, the one with this title.
    func titles(until last: String) async throws -> [String] {
        var titles: [String] = []
        while true {
            let title = try await message().title
            if title == last { return titles }
            titles.append(title)
        }
    }

    /// What a reconnecting reader sends.
    var cursor: String { decoder.lastEventID }
}
