import NIOCore
import NIOSSL
import NIOTLS
import Synchronization

/// Closes a connection whose handshake takes too long or that is silent, and notes the client's certificate.
final class ConnectionGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let handshake: TimeAmount
    private let facts: ConnectionFacts
    private var deadline: Scheduled<Void>?

    init(handshake: TimeAmount, facts: ConnectionFacts) {
        self.handshake = handshake
        self.facts = facts
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: handshake) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            deadline?.cancel()
            let certificate = try? context.channel.pipeline.syncOperations.nioSSL_peerCertificate()
            facts.hasClientCertificate = certificate.flatMap { $0 } != nil
        }
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        context.close(promise: nil)
    }

    /// Closes the connection after a TLS failure or a reset.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
