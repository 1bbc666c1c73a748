import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP2
import NIOTLS

/// Waits for the end of a handshake, in which client and hub agree on a version of HTTP, by default 1.1.
final class TLSHandshake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    /// Names for protocol negotiation (RFC 7301 §6), in order of preference.
    static let protocols = ["h2", "http/1.1"]

    private let kinds: ProtocolDetectingChannel.Kinds
    private let became: EventLoopPromise<ProtocolDetectingChannel.Outcome>
    private var isFinished = false
    private var timeout: Scheduled<Void>?

    init(_ kinds: ProtocolDetectingChannel.Kinds, became: EventLoopPromise<ProtocolDetectingChannel.Outcome>) {
        self.kinds = kinds
        self.became = became
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        let logger = kinds.edge.logger
        timeout = context.eventLoop.scheduleTask(in: TimeAmount(kinds.edge.limits.handshake)) {
            logger.debug("a TLS handshake failed", metadata: ["error.reason": "it took too long"])
            channel.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
        if !isFinished { became.succeed(.nothing) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if !isFinished, case .handshakeCompleted(let version)? = event as? TLSUserEvent {
            complete(context, version)
            return
        }
        if !isFinished, event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Clients that do not trust the certificate disconnect here; they report the error themselves.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isFinished else { return context.fireErrorCaught(error) }
        kinds.edge.logger.debug("a TLS handshake failed", metadata: ["error.reason": "\(error)"])
        timeout?.cancel()
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        if !isFinished { became.succeed(.nothing) }
        isFinished = true
        context.fireChannelInactive()
    }

    /// Sets up the connection before it returns: the first decrypted bytes follow this event immediately.
    private func complete(_ context: ChannelHandlerContext, _ version: String?) {
        isFinished = true
        timeout?.cancel()
        let channel = context.channel
        let pipeline = context.pipeline.syncOperations
        do {
            if version == Self.protocols[0] {
                let setup = kinds.http2.setup(channel: channel, logger: kinds.edge.logger)
                setup.whenFailure { [kinds] in kinds.close(channel, for: $0) }
                let frames = try pipeline.handler(type: NIOHTTP2Handler.self)
                let farewell = HTTP2Farewell(patience: TimeAmount(kinds.edge.limits.farewell))
                try pipeline.addHandler(EarlySettings(), position: .before(frames))
                try pipeline.addHandlers([HeaderListSetting(), farewell, EarlyEndings()], position: .after(frames))
                setup.map { .http2($0) }.cascade(to: became)
            } else {
                try pipeline.addHandler(RequestSniffer(kinds, isWithinTLS: true, became: became))
            }
            pipeline.removeHandler(context: context, promise: nil)
        } catch {
            became.succeed(.nothing)
            kinds.close(channel, for: error)
        }
    }
}
