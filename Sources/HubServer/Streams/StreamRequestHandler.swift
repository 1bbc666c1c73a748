import Formats
import HubProtocol
import HubStreams
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1

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
            head.headers = HTTPHeaders(head.headers.map { ($0.name, String($0.value.trimmingBlanks())) })
            let whole = try? HTTPRequest(head, secure: false, splitCookie: false)
            let fault = RequestHeadRules.hostFault(of: head) ?? whole.flatMap(RequestHeadRules.fault)
            if let fault { return refuse(context, fault) }
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
        refuse(context, RequestHeadRules.refusal(error))
    }

    private func refuse(_ context: ChannelHandlerContext, _ error: ProtocolError) {
        let channel = context.channel
        channel.writeAndFlush(ErrorReply(error).wholeResponse).whenComplete { _ in channel.close(promise: nil) }
    }

    private func handOver(_ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
        let output = ChannelOutput(
            answered: { [responses = gate.edge.responses] in responses.add(ResponseCounts.stream, status: $0) },
            refusal: { ErrorReply($0).wholeResponse(fields: $1) }
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
