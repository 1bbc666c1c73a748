import HTTPTypes
import HubProtocol
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Keeps a connection in order where a request's body and its answer cross.
///
/// Clients that announce a body with `Expect: 100-continue` are asked for it at once; they would wait a second otherwise. A
/// request that is answered before its body has come does not take the connection hostage: what little is left is read, for
/// more the connection ends, but not before the client had time to read the answer, which an early close would destroy.
///
/// Source: RFC 9110 §10.1.1; RFC 9112 §9.6.
final class BodyManners: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    enum Version: Sendable {
        case http1
        /// On the channel of one stream.
        case http2
    }

    /// Bytes of a body that is worth being asked for: a batch is the largest that a route takes.
    static let maximumExpected = SendRequest.Kind.batch.maximumBytes
    /// Bytes of an answered request that are read so that its connection can go on.
    static let maximumRest = 1 << 20
    /// How long a client that goes on sending has to read its answer.
    static let linger = TimeAmount.seconds(10)

    /// A request whose end has not come.
    private struct Incoming {
        let announced: Int?
        var received = 0

        var isNearlyThere: Bool { announced.map { $0 - received <= BodyManners.maximumRest } ?? false }
    }

    private let version: Version
    /// The connection was begun by a client that waits for its end, unless it says otherwise (RFC 9112 §9.3).
    var isHTTP10 = false
    private var incoming: Incoming?
    /// Requests that have begun and whose answer has not ended.
    private var unanswered = 0
    private var hasBegunAnswer = false
    private var owesContinue = false
    private var closesAfterAnswer = false
    private var isDiscarding = false
    private var end: Scheduled<Void>?

    init(_ version: Version) {
        self.version = version
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end?.cancel()
    }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard !isDiscarding else { return }
            begin(head, context)
        case .body(let bytes):
            incoming?.received += bytes.readableBytes
            guard !isDiscarding else { return }
            context.fireChannelRead(data)
        case .end:
            incoming = nil
            owesContinue = false
            guard !isDiscarding else { return endHere(context) }
            context.fireChannelRead(data)
        }
    }

    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        var head = head
        unanswered += 1
        let announced = head.headerFields[.contentLength].flatMap { Int($0) }
        incoming = Incoming(announced: announced)
        if let expectation = head.headerFields[.expect], expectation.lowercased() == "100-continue" {
            owesContinue = true
            if announced ?? 0 <= Self.maximumExpected { askForBody(context) }
        }
        // Hummingbird knows one spelling.
        let connection = head.headerFields[.connection]?.lowercased()
        if connection == "close" || isHTTP10 && connection != "keep-alive" { head.headerFields[.connection] = "close" }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Not before the answers to former requests, in which it would end up.
    private func askForBody(_ context: ChannelHandlerContext) {
        guard owesContinue, unanswered == 1 else { return }
        owesContinue = false
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }

    /// What comes is no HTTP, or more than a head may hold.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard version == .http1, error is HTTPParserError, !hasBegunAnswer, unanswered == (incoming == nil ? 0 : 1)
        else { return context.fireErrorCaught(error) }
        let refusal = ErrorReply(.badRequest("The request is not valid HTTP/1.1."))
        incoming = Incoming(announced: nil)
        unanswered = 1
        write(context: context, data: wrapOutboundOut(.head(refusal.head)), promise: nil)
        write(context: context, data: wrapOutboundOut(.body(refusal.bytes)), promise: nil)
        write(context: context, data: wrapOutboundOut(.end(nil)), promise: nil)
    }

    // MARK: - Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            hasBegunAnswer = true
            if unanswered == 1, owesContinue || incoming?.isNearlyThere == false {
                closesAfterAnswer = true
                if version == .http1 { head.headerFields[.connection] = "close" }
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end:
            hasBegunAnswer = false
            unanswered -= 1
            context.write(data, promise: promise)
            if closesAfterAnswer { close(context) } else { askForBody(context) }
        }
    }

    /// Ends our side, and the other when it has said what it wanted to say or ``linger`` is over.
    private func close(_ context: ChannelHandlerContext) {
        context.flush()
        guard incoming != nil else { return endHere(context) }
        isDiscarding = true
        if version == .http1 { context.close(mode: .output, promise: nil) }
        let channel = context.channel
        end = context.eventLoop.scheduleTask(in: Self.linger) { channel.close(promise: nil) }
    }

    /// A stream of HTTP/2 is at its end by itself.
    private func endHere(_ context: ChannelHandlerContext) {
        end?.cancel()
        if version == .http1 { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isDiscarding {
            let isQuiescing = event is ChannelShouldQuiesceEvent
            let isClosed = if case ChannelEvent.inputClosed = event { true } else { false }
            if isQuiescing || isClosed { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }
}

extension ErrorReply {
    fileprivate var head: HTTPResponse {
        var head = response.head
        head.headerFields[.contentLength] = "\(bytes.readableBytes)"
        return head
    }
}
