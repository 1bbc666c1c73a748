import NIOCore
import NIOHTTP2

/// Lets a connection live on when one of its requests ends before as much has come as was announced.
///
/// libcurl ends a body so when the request is refused meanwhile. It is that request's mistake alone, and NIO has reset it;
/// Hummingbird would close the whole connection, and destroy the refusal on its way.
final class EarlyEndings: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.ContentLengthViolated { return }
        context.fireErrorCaught(error)
    }
}
