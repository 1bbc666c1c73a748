import NIOCore
import NIOHTTP2

/// Keeps a connection open when one of its requests ends before its announced length has arrived.
///
/// libcurl ends a body in this way when the request is refused meanwhile. The fault is that request's alone, and NIO
/// has reset its stream. Hummingbird would close the whole connection, and destroy the refusal on its way.
final class EarlyEndings: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOHTTP2Errors.ContentLengthViolated { return }
        context.fireErrorCaught(error)
    }
}
