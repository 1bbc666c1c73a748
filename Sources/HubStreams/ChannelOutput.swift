import HubProtocol
import NIOCore

/// A stream on a connection of its own, whose HTTP handlers are gone once the request was read.
///
/// An idle stream costs the channel and this handler, 4 KB or so. The body ends with the connection.
final class ChannelOutput: ChannelInboundHandler, StreamOutput {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How long a client that does not read keeps a connection whose stream has ended.
    private static let linger = TimeAmount.milliseconds(500)

    private var context: ChannelHandlerContext?
    private var session: StreamSession?
    private let responses: ResponseCounts

    init(responses: ResponseCounts) {
        self.responses = responses
    }

    /// Names the session whose output this is; it must be told before the session is attached.
    func serve(_ session: StreamSession) {
        self.session = session
    }

    // MARK: - StreamOutput

    func open() {
        responses.add(ResponseCounts.stream, status: 200)
        send(Self.head)
    }

    func refuse(_ error: ProtocolError) {
        responses.add(ResponseCounts.stream, status: error.status)
        send(ErrorReply(error).wholeResponse)
        close()
    }

    func write(_ bytes: ByteBuffer) -> Bool {
        send(bytes)
        return context?.channel.isWritable ?? false
    }

    /// Closes after what was written, which may be why the stream ends, but waits no longer than ``linger``.
    func close() {
        session = nil
        guard let context else { return }
        let channel = context.channel
        let timeout = context.eventLoop.scheduleTask(in: Self.linger) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in timeout.cancel() }
        let flushed = context.eventLoop.makePromise(of: Void.self)
        flushed.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: flushed)
    }

    private func send(_ bytes: ByteBuffer) {
        guard let context else { return }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    private static let head = ByteBuffer(
        string: """
            HTTP/1.1 200 OK\r
            Content-Type: text/event-stream\r
            Cache-Control: no-store\r
            X-Accel-Buffering: no\r
            Connection: close\r
            \r\n
            """
    )

    // MARK: - The connection

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Nothing that a client says after its request matters.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { session?.outputIsReady() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        session?.outputHasEnded()
        session = nil
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client that has shut down its side reads no more either, as far as streams go; and streams end before the
        // server does.
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
