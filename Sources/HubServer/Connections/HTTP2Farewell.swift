import NIOCore
import NIOHTTP2

/// Closes an HTTP/2 connection some time after the hub has announced its end.
///
/// Hummingbird waits for the client's reply to a PING before it closes, forever if none comes.
final class HTTP2Farewell: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let patience: TimeAmount
    private var end: Scheduled<Void>?

    init(patience: TimeAmount) {
        self.patience = patience
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end?.cancel()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .goAway = unwrapOutboundIn(data).payload, end == nil {
            let channel = context.channel
            end = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
        }
        context.write(data, promise: promise)
    }
}
