import HTTPTypes
import HubProtocol
import HubRouting
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import WebEdge

/// Keeps a connection usable when a request's body and its response overlap.
///
/// A client that announces a body with `Expect: 100-continue` is asked for it at once; otherwise it would wait a
/// second. If a request is answered before its body has arrived, a short rest of the body is read and discarded. With a
/// longer rest the connection ends, but only after the client had time to read the response, which an early close would
/// destroy. A body that is truncated, malformed or too slow reaches its route as a ``RequestFault``, never as a shorter
/// body.
///
/// A response to HEAD over HTTP/2 names no length that GET's would not have.
///
/// Source: RFC 9110 §8.6, §10.1.1; RFC 9112 §9.6.
final class RequestBodyHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    enum Version: Sendable {
        case http1
        /// The channel of one HTTP/2 stream.
        case http2
    }

    /// Maximum size of a body for which `100 Continue` is sent: that of a batch, the largest body that a route accepts.
    static let maximumExpected = SendRequest.Kind.batch.maximumBytes
    /// Maximum number of bytes that are read after the response to keep the connection.
    static let maximumRest = 1 << 20
    /// Time for a client that continues to send to read its response.
    static let linger = TimeAmount.seconds(10)

    /// A request that has not ended.
    private struct Incoming {
        let announced: Int?
        var received = 0
        /// The time from which the hub waits for the body.
        var since: NIODeadline

        var isNearlyThere: Bool { announced.map { $0 - received <= RequestBodyHandler.maximumRest } ?? false }
    }

    private let version: Version
    private let limits: ConnectionLimits
    /// True for an HTTP/1.0 client, which reads until the connection closes unless it asks for `keep-alive` (RFC 9112
    /// §9.3).
    var isHTTP10 = false
    /// The fault of the host in the head that follows; `nil` without one.
    var hostFault: ProtocolError?
    private var incoming: Incoming?
    /// Number of requests that have begun and whose response has not ended.
    private var unanswered = 0
    /// True if the last request was HEAD.
    private var isHead = false
    private var owesContinue = false
    private var closesAfterAnswer = false
    private var isDiscarding = false
    /// True if the rest of the body cannot be read.
    private var isBroken = false
    /// The refusal of what follows a request whose response must be sent first; `nil` for none.
    private var nextRefusal: ProtocolError?
    private var inputHasEnded = false
    private var end: Scheduled<Void>?
    /// The time by which the first head must have arrived; `nil` once it has.
    private var headDeadline: NIODeadline?
    private var clock: Scheduled<Void>?
    private var stall: Scheduled<Void>?

    init(_ version: Version, _ limits: ConnectionLimits) {
        self.version = version
        self.limits = limits
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        for timer in [end, clock, stall] { timer?.cancel() }
    }

    /// Answers with 408 if the first request's head has not arrived by the deadline.
    func expectHead(by deadline: NIODeadline) { headDeadline = deadline }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            headDeadline = nil
            guard !isDiscarding, !isBroken else { return }
            begin(head, context)
        case .body(let bytes):
            incoming?.received += bytes.readableBytes
            guard !isDiscarding, !isBroken else { return }
            context.fireChannelRead(data)
        case .end:
            incoming = nil
            owesContinue = false
            guard !isDiscarding else { return endHere(context) }
            guard !isBroken else { return }
            context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        watchClock(context)
        context.fireChannelReadComplete()
    }

    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        if let fault = hostFault ?? RequestHeadRules.fault(of: head) { return refuse(fault, context) }
        var head = head
        isHead = head.method == .head
        unanswered += 1
        let announced = head.headerFields[.contentLength].flatMap { Int($0) }
        incoming = Incoming(announced: announced, since: context.eventLoop.now)
        if let expectation = head.headerFields[.expect], expectation.lowercased() == "100-continue" {
            owesContinue = true
            if announced ?? 0 <= Self.maximumExpected { askForBody(context) }
        }
        // Hummingbird knows only one spelling.
        let connection = head.headerFields[.connection]?.lowercased()
        if connection == "close" || isHTTP10 && connection != "keep-alive" { head.headerFields[.connection] = "close" }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Sends `100 Continue`, but only after the responses to earlier requests, so that it does not end up inside one.
    private func askForBody(_ context: ChannelHandlerContext) {
        guard owesContinue, unanswered == 1 else { return }
        owesContinue = false
        incoming?.since = context.eventLoop.now
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }

    // MARK: - Faults

    /// Handles input that is not HTTP, a head that is too large, and a lost connection.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Nothing more is read in any case.
        guard !isBroken, !isDiscarding else { return }
        if incoming != nil {
            let isCut = if case HTTPParserError.invalidEOFState = error { true } else { !(error is HTTPParserError) }
            return unanswered > 0 ? breakOff(isCut ? .cutShort : .malformed, context) : context.close(promise: nil)
        }
        guard version == .http1, error is HTTPParserError else { return context.fireErrorCaught(error) }
        // A head that is refused here has an end that must be read; after an error nothing more comes.
        defer { isBroken = true }
        refuse(RequestHeadRules.refusal(error), context)
    }

    /// Refuses a request, after the responses to earlier ones, and reads no further one.
    private func refuse(_ error: ProtocolError, _ context: ChannelHandlerContext) {
        if unanswered == 0 {
            refuseHere(error, context)
        } else {
            isBroken = true
            nextRefusal = error
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Without an error, the part that has arrived would pass for the whole body.
        if incoming != nil, unanswered > 0 { breakOff(.cutShort, context) }
        context.fireChannelInactive()
    }

    /// Reports the fault to the route, whose response ends the connection.
    private func breakOff(_ fault: RequestFault, _ context: ChannelHandlerContext) {
        guard !isBroken, !isDiscarding else { return }
        isBroken = true
        closesAfterAnswer = true
        context.fireErrorCaught(fault)
    }

    /// Answers a request that no route will see.
    private func refuseHere(_ error: ProtocolError, _ context: ChannelHandlerContext) {
        let refusal = ErrorReply(error)
        headDeadline = nil
        incoming = Incoming(announced: nil, since: context.eventLoop.now)
        closesAfterAnswer = true
        unanswered = 1
        write(context: context, data: wrapOutboundOut(.head(refusal.head)), promise: nil)
        write(context: context, data: wrapOutboundOut(.body(refusal.bytes)), promise: nil)
        write(context: context, data: wrapOutboundOut(.end(nil)), promise: nil)
    }

    // MARK: - Time

    /// Sets the connection's one timer if input is due.
    ///
    /// Most requests arrive whole and never set it.
    private func watchClock(_ context: ChannelHandlerContext) {
        guard clock == nil, !isBroken, !isDiscarding, let deadline = headDeadline ?? bodyDeadline else { return }
        clock = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.clock = nil
            self.timeIsUp(context)
        }
    }

    /// The time by which more of a body must have arrived.
    private var bodyDeadline: NIODeadline? {
        incoming.map { $0.since + TimeAmount(limits.bodyGrace) + .milliseconds(paid($0.received)) }
    }

    /// Milliseconds that this number of bytes may take.
    private func paid(_ bytes: Int) -> Int64 { Int64(bytes) * 1_000 / Int64(limits.bodyRate) }

    private func timeIsUp(_ context: ChannelHandlerContext) {
        guard !isBroken, !isDiscarding else { return }
        let now = context.eventLoop.now
        // While an earlier request is unanswered, the next request's body is not read.
        if unanswered > 1 { incoming?.since = now }
        if let headDeadline, headDeadline <= now {
            return refuseHere(ProtocolError.tooSlow("The request head arrived too slowly."), context)
        }
        if headDeadline == nil, let bodyDeadline, bodyDeadline <= now {
            return unanswered > 0 ? breakOff(.tooSlow, context) : context.close(promise: nil)
        }
        watchClock(context)
    }

    /// Ends a connection whose client does not read its response.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stall?.cancel()
        stall = nil
        if !context.channel.isWritable {
            let channel = context.channel
            stall = context.eventLoop.scheduleTask(in: TimeAmount(limits.stall)) { channel.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: - Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            if unanswered == 1, owesContinue || incoming?.isNearlyThere == false { closesAfterAnswer = true }
            if closesAfterAnswer, unanswered == 1, version == .http1 { head.headerFields[.connection] = "close" }
            // Hummingbird announces the body that it does not send, if the route's has no known length. HTTP/1.1 keeps
            // this 0: NIO would end a head without a length with an empty chunk, which clients read as the next response.
            if version == .http2, isHead, head.headerFields[.contentLength] == "0" {
                head.headerFields[.contentLength] = nil
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end:
            unanswered -= 1
            context.write(data, promise: promise)
            if let refusal = nextRefusal, unanswered == 0 {
                nextRefusal = nil
                return refuseHere(refusal, context)
            }
            if closesAfterAnswer, unanswered == 0 { close(context) } else { askForBody(context) }
        }
    }

    /// Closes the outgoing side, and the connection when the client has finished or ``linger`` has passed.
    private func close(_ context: ChannelHandlerContext) {
        context.flush()
        guard incoming != nil, !inputHasEnded else { return endHere(context) }
        isDiscarding = true
        if version == .http1 { context.close(mode: .output, promise: nil) }
        let channel = context.channel
        end = context.eventLoop.scheduleTask(in: Self.linger) { channel.close(promise: nil) }
    }

    /// An HTTP/2 stream ends on its own.
    private func endHere(_ context: ChannelHandlerContext) {
        end?.cancel()
        if version == .http1 { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { inputHasEnded = true }
        if isDiscarding, inputHasEnded || event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
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
