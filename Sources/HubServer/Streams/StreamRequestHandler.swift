import HubProtocol
import HubStreams
import NIOCore
import NIOHTTP1

/// Reads the head of a stream request, and hands over the connection without its HTTP handlers.
final class StreamRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let gate: StreamGate
    /// The time by which the whole request must have arrived.
    private let deadline: NIODeadline
    private var head: HTTPRequestHead?
    private var timeout: Scheduled<Void>?

    init(gate: StreamGate, deadline: NIODeadline) {
        self.gate = gate
        self.deadline = deadline
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            head.headers = HTTPHeaders(head.headers.map { ($0.name, $0.value.trimmingBlanks) })
            self.head = head
        case .body: break
        case .end:
            guard let head else { return }
            self.head = nil
            handOver(context, head)
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(deadline: deadline) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timeout?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
        if case ChannelEvent.inputClosed = event { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    /// Ends the connection: the input is not HTTP, or the head is too large.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let refusal = ErrorReply(.badRequest("The request is not valid HTTP/1.1."))
        let channel = context.channel
        channel.writeAndFlush(refusal.wholeResponse).whenComplete { _ in channel.close(promise: nil) }
    }

    private func handOver(_ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
        let output = ChannelOutput(
            answered: { [responses = gate.responses] in responses.add(ResponseCounts.stream, status: $0) },
            refusal: { ErrorReply($0).wholeResponse }
        )
        let channel = context.channel
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(output)
            let decoder = try pipeline.context(name: StreamGate.decoderName)
            pipeline.removeHandler(context: decoder, promise: nil)
            pipeline.removeHandler(context: context, promise: nil)
            gate.serve(head, on: channel, output: output)
        } catch {
            channel.close(promise: nil)
        }
    }
}

extension String {
    /// The text of a field's value without the blanks around it, which are no part of the value (RFC 9110 §5.5): the
    /// decoder leaves those at its end.
    fileprivate var trimmingBlanks: String {
        guard let first = utf8.first, let last = utf8.last, [first, last].contains(where: Self.isBlank) else {
            return self
        }
        var text = utf8.drop(while: Self.isBlank)
        while let last = text.last, Self.isBlank(last) { text.removeLast() }
        return String(decoding: text, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
