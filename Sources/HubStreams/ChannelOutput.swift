package import HubProtocol
package import NIOCore

/// A stream on its own connection, whose HTTP handlers are removed once the request has been read.
///
/// An idle stream costs its channel and this handler, about 4 KB. The body ends with the connection.
package final class ChannelOutput: ChannelInboundHandler, StreamOutput {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Time after the end of a stream in which its client may read the rest.
    private static let linger = TimeAmount.milliseconds(500)

    private var context: ChannelHandlerContext?
    private var session: StreamSession?
    private let answered: (_ status: Int) -> Void
    private let refusal: (ProtocolError, _ fields: String) -> ByteBuffer
    /// Header lines of the answer besides its usual ones, each with its end.
    package var fields = ""

    /// - Parameters:
    ///   - answered: Called with the status of the answer.
    ///   - refusal: Returns the whole HTTP response to a request that is refused, with ``fields``.
    package init(
        answered: @escaping (_ status: Int) -> Void,
        refusal: @escaping (ProtocolError, _ fields: String) -> ByteBuffer
    ) {
        self.answered = answered
        self.refusal = refusal
    }

    /// Sets the session whose output this is; must be called before the session is attached.
    package func serve(_ session: StreamSession) {
        self.session = session
    }

    // MARK: - StreamOutput

    package func open() {
        answered(200)
        send(fields.isEmpty ? Self.head : ByteBuffer(string: "\(Self.lines)\(fields)\r\n"))
        fields = ""
    }

    package func refuse(_ error: ProtocolError) { end(refusal(error, fields), status: error.status) }

    /// Answers with a whole HTTP response, which ends the connection.
    package func end(_ response: ByteBuffer, status: Int) {
        answered(status)
        send(response)
        close()
    }

    package func write(_ bytes: ByteBuffer) -> Bool {
        send(bytes)
        return context?.channel.isWritable ?? false
    }

    /// Closes the connection when all bytes are sent, the last of which may state why the stream ends, or after
    /// ``linger``.
    package func close() {
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

    private static let lines = """
        HTTP/1.1 200 OK\r
        Content-Type: text/event-stream\r
        Cache-Control: no-store\r
        X-Accel-Buffering: no\r
        X-Content-Type-Options: nosniff\r
        Connection: close\r\n
        """
    private static let head = ByteBuffer(string: "\(lines)\r\n")

    // MARK: - The connection

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Ignores everything that a client sends after its request.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { session?.outputIsReady() }
        context.fireChannelWritabilityChanged()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        session?.outputHasEnded()
        session = nil
        context.fireChannelInactive()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client that has closed its sending side is taken to have left; and streams end before the server does.
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
