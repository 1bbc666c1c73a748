import Formats
import NIOCore
import NIOHTTP2

/// Ends an HTTP/2 connection with a GOAWAY, and keeps it open when only one stream fails.
///
/// The last handler of the connection's pipeline.
final class HTTP2Ending: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let patience: TimeAmount
    private var isEnding = false

    init(patience: TimeAmount) {
        self.patience = patience
    }

    /// Ends a connection, on its event loop; an HTTP/1.1 connection is closed.
    static func goAway(on connection: any Channel, after stream: HTTP2StreamID) {
        guard let context = try? connection.pipeline.syncOperations.context(handlerType: HTTP2Ending.self),
            let ending = context.handler as? HTTP2Ending
        else { return connection.close(promise: nil) }
        ending.goAway(context: context, after: stream)
    }

    /// Announces that streams after `stream` are not processed, and closes the connection a while later.
    ///
    /// Source: RFC 9113 §6.8; the debug data is Apple's.
    func goAway(context: ChannelHandlerContext, after stream: HTTP2StreamID) {
        guard !isEnding else { return }
        isEnding = true
        let data = ByteBuffer(bytes: (["reason": "Shutdown"] as JSONText).bytes)
        let frame = HTTP2Frame(
            streamID: .rootStream,
            payload: .goAway(lastStreamID: stream, errorCode: .noError, opaqueData: data)
        )
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        let channel = context.channel
        context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.StreamError || error is NIOHTTP2Errors.ContentLengthViolated { return }
        context.close(promise: nil)
    }
}
