import Formats
import HubProtocol
import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Collects a request and writes its answer, on an HTTP/2 stream or an HTTP/1.1 connection.
final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case idle
        case reading(HTTPRequestHead, ByteBuffer)
        /// The reply is sent later.
        case answering
        /// The reply was sent before the end of the request; the value counts the bytes that have arrived since.
        case discarding(Int)
        case over
    }

    private let server: ServerContext
    private let facts: ConnectionFacts
    private var state = State.idle
    private var isHTTP2 = false
    /// False if an HTTP/1.1 client wants the connection closed after the reply.
    private var keepsAlive = true
    private var deadline: Scheduled<Void>?
    private var answer: Scheduled<Void>?

    init(_ server: ServerContext, _ facts: ConnectionFacts) {
        self.server = server
        self.facts = facts
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), state) {
        case (.head(let head), .idle):
            state = .reading(head, ByteBuffer())
            isHTTP2 = head.version.major == 2
            keepsAlive = isHTTP2 || head.isKeepAlive
            let limit = TimeAmount(server.limits.request)
            let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            deadline = context.eventLoop.scheduleTask(in: limit) { handler.value.giveUp(bound.value) }
        case (.body(var part), .reading(let head, var body)):
            // Drops the state's reference, so that the buffer is not copied.
            state = .over
            body.writeBuffer(&part)
            guard body.readableBytes <= server.limits.bodyBytes else { return refuse(context, head, body) }
            state = .reading(head, body)
        case (.body(let part), .discarding(let count)):
            let total = count + part.readableBytes
            state = .discarding(total)
            if total > server.limits.discardedBytes { close(context) }
        case (.end, .reading(let head, let body)):
            deadline?.cancel()
            respond(context, head, body)
        case (.end, .discarding): close(context)
        default: break
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        answer?.cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        answer?.cancel()
        state = .over
        context.fireChannelInactive()
    }

    /// Closes after a reset or malformed HTTP.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        close(context)
    }

    private func respond(_ context: ChannelHandlerContext, _ head: HTTPRequestHead, _ body: ByteBuffer) {
        let answer = server.model.answer(request(context, head, body))
        guard !answer.isGoingAway else { return goAway(context) }
        state = .answering
        guard answer.delay > .zero else { return write(context, answer) }
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        self.answer = context.eventLoop.scheduleTask(in: TimeAmount(answer.delay)) {
            handler.value.write(bound.value, answer)
        }
    }

    private func write(_ context: ChannelHandlerContext, _ answer: EmulatorAnswer) {
        guard case .answering = state else { return }
        if let delivery = answer.delivery { server.model.deliver(delivery) }
        state = .idle
        write(context, answer.reply, thenCloses: !keepsAlive)
    }

    /// Replies to a body that is larger than any service accepts, before its end.
    private func refuse(_ context: ChannelHandlerContext, _ head: HTTPRequestHead, _ body: ByteBuffer) {
        let reply = server.model.answer(request(context, head, body)).reply
        state = .discarding(0)
        let isRefused = reply.status >= 400
        keepsAlive = isHTTP2
        write(context, isRefused ? reply : EmulatorReply(413), thenCloses: false)
    }

    /// Ends a request that is not complete in time.
    private func giveUp(_ context: ChannelHandlerContext) {
        if case .reading = state {
            state = .discarding(0)
            keepsAlive = isHTTP2
            write(context, EmulatorReply(408), thenCloses: true)
        } else {
            close(context)
        }
    }

    private func write(_ context: ChannelHandlerContext, _ reply: EmulatorReply, thenCloses closes: Bool) {
        var headers = HTTPHeaders(reply.headers.map { ($0.name, $0.value) })
        headers.add(name: "date", value: HTTPDate.text(server.now().date))
        headers.add(name: "content-length", value: "\(reply.body.count)")
        if !keepsAlive { headers.add(name: "connection", value: "close") }
        let head = HTTPResponseHead(
            version: isHTTP2 ? .http2 : .http1_1,
            status: HTTPResponseStatus(statusCode: reply.status),
            headers: headers
        )
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !reply.body.isEmpty {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: reply.body)))), promise: nil)
        }
        let channel = context.channel
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        guard closes else { return }
        written.futureResult.whenComplete { _ in channel.close(promise: nil) }
    }

    /// Tells the client that this request was not processed.
    private func goAway(_ context: ChannelHandlerContext) {
        state = .over
        guard isHTTP2, let connection = context.channel.parent,
            let stream = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        else { return close(context) }
        let number = Int(stream)
        HTTP2Ending.goAway(on: connection, after: HTTP2StreamID(max(0, number - 2)))
    }

    private func close(_ context: ChannelHandlerContext) {
        state = .over
        context.close(promise: nil)
    }

    private func request(
        _ context: ChannelHandlerContext,
        _ head: HTTPRequestHead,
        _ body: ByteBuffer
    ) -> EmulatorRequest {
        // The HTTP/2 codec adds this header.
        let headers = head.headers.map { HeaderLine($0.name.lowercased(), $0.value) }
            .filter { !isHTTP2 || $0.name != "transfer-encoding" }
        return EmulatorRequest(
            method: head.method.rawValue,
            path: String(head.uri.prefix { $0 != "?" && $0 != "#" }),
            authority: headers.first { $0.name == "host" }?.value ?? "",
            headers: headers,
            body: Array(body.readableBytesView),
            isHTTP2: isHTTP2,
            receivedAt: server.now(),
            connection: facts
        )
    }
}
