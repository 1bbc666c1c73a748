internal import NIOCore
internal import NIOHTTPTypes
internal import WebEdge

/// Watches one connection: the head of its request, and the whole request, must arrive in time.
///
/// Bytes that trickle in extend neither time.
final class CallbackDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Time from the start of a connection, or the end of a reply, to the whole head of the next request.
    static let headTime = TimeAmount.seconds(15)
    /// Time from the head of a request to the end of its body, and of the reply.
    static let requestTime = TimeAmount.seconds(75)

    private let connections: ConnectionPlaces
    private var deadline: Scheduled<Void>?
    private var hasRequestEnded = true
    private var hasAnswerEnded = true

    init(_ connections: ConnectionPlaces) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            (hasRequestEnded, hasAnswerEnded) = (false, false)
            connections.move(context.channel, to: .busy)
            expect(within: Self.requestTime, context)
        case .body: break
        case .end:
            hasRequestEnded = true
            settle(context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            hasAnswerEnded = true
            settle(context)
        }
        context.write(data, promise: promise)
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard connections.enter(context.channel) else { return context.close(promise: nil) }
        expect(within: Self.headTime, context)
    }

    private func settle(_ context: ChannelHandlerContext) {
        guard hasAnswerEnded else { return }
        guard hasRequestEnded else { return connections.move(context.channel, to: .answered) }
        connections.move(context.channel, to: .waiting)
        expect(within: Self.headTime, context)
    }

    private func expect(within time: TimeAmount, _ context: ChannelHandlerContext) {
        deadline?.cancel()
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
