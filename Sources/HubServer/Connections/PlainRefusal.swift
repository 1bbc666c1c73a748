import HubProtocol
import NIOCore

/// Answers a plain HTTP client on a TLS-only port with an error, and closes the connection once the client could read
/// it.
///
/// Browsers get a page with the address to open instead.
final class PlainRefusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Time for which the client may continue to send.
    private static let linger = TimeAmount.seconds(2)

    private var end: Scheduled<Void>?

    /// Sends the reply to the first bytes: a client that sends its head in pieces gets XML.
    private func refuse(_ head: ByteBuffer, _ context: ChannelHandlerContext) {
        let refusal = ErrorReply(
            .badRequest(
                "This port requires HTTPS: use https:// (sb:// in a connection string), and trust its certificate."
            )
        )
        let reply = PlainVisit(head.readableBytesView).map { refusal.wholeResponse(page: $0.page) }
        context.writeAndFlush(wrapOutboundOut(reply ?? refusal.wholeResponse), promise: nil)
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        end = context.eventLoop.scheduleTask(in: Self.linger) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end?.cancel()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard end == nil else { return }
        refuse(unwrapInboundIn(data), context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
