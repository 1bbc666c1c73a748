import NIOCore
import NIOHTTP2

/// Announces how large a header list an HTTP/2 connection accepts.
///
/// `NIOHTTP2Handler` announces 16 KiB, and ends the connection for a larger list. A list above
/// ``RequestHeadRules/maximumBytes`` is refused with 431 on its own stream, as long as it is within this limit.
final class HeaderListSetting: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// Bytes.
    static let limit = 2 * RequestHeadRules.maximumBytes

    func handlerAdded(context: ChannelHandlerContext) {
        let setting = HTTP2Setting(parameter: .maxHeaderListSize, value: Self.limit)
        let frame = HTTP2Frame(streamID: .rootStream, payload: .settings(.settings([setting])))
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }
}

/// Puts the settings of an HTTP/2 connection into force before its first request.
///
/// `NIOHTTP2Handler` uses a setting once the client has acknowledged it (RFC 9113 §6.5.3), but clients send requests
/// before that. A larger limit can be in force earlier than the client knows of it: so the acknowledgements are inserted
/// after the client's first frame, and the client's own ones are dropped.
final class EarlySettings: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Settings frames that the server sends: that of `NIOHTTP2Handler`, and that of ``HeaderListSetting``.
    private static let announced = 2
    /// Bytes of the client's preface before its first frame, and of a frame's head (RFC 9113 §3.4, §4.1).
    private static let preface = 24
    private static let frameHead = 9
    private static let settings: UInt8 = 4
    private static let acknowledgement: [UInt8] = [0, 0, 0, settings, 1, 0, 0, 0, 0]

    private var held = ByteBuffer()
    /// Bytes of the preface, or of a frame, that are passed on before the next frame.
    private var passing = EarlySettings.preface
    private var hasFirstFrame = false
    private var hasInserted = false
    private var dropped = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard dropped < Self.announced else { return context.fireChannelRead(data) }
        held.writeBuffer(&bytes)
        var output = ByteBuffer()
        while dropped < Self.announced {
            if passing > 0 {
                guard var part = held.readSlice(length: min(passing, held.readableBytes)), part.readableBytes > 0 else {
                    break
                }
                passing -= part.readableBytes
                output.writeBuffer(&part)
                continue
            }
            if hasFirstFrame, !hasInserted {
                hasInserted = true
                for _ in 0..<Self.announced { output.writeBytes(Self.acknowledgement) }
            }
            guard var head = held.readSlice(length: Self.frameHead) else { break }
            if hasInserted, head.readableBytesView.elementsEqual(Self.acknowledgement) {
                dropped += 1
                continue
            }
            passing = head.readableBytesView.prefix(3).reduce(0) { $0 << 8 | Int($1) }
            hasFirstFrame = true
            output.writeBuffer(&head)
        }
        let isDone = dropped == Self.announced
        if isDone {
            output.writeBuffer(&held)
            // Idle connections are many, and keep their handlers' memory.
            held = ByteBuffer()
        }
        if output.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(output)) }
        if isDone { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
    }
}
