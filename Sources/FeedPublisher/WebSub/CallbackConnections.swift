internal import NIOCore
internal import NIOHTTPTypes
internal import Synchronization

/// The connections of a public server, in a limited number.
///
/// A connection costs its client nothing while its request has not arrived, or while the body of an answered request
/// goes on. Such connections must not keep out a client with a request: when all places are taken, the oldest of them
/// is closed.
final class CallbackConnections: Sendable {
    /// The state of a connection, from those closed first to those never closed to make room.
    enum Phase: Int, Sendable {
        /// The head of its next request has not arrived completely.
        case waiting
        /// Its request was answered, and its body continues.
        case answered
        /// Its request is being processed.
        case busy
    }

    private struct Place: Sendable {
        let channel: any Channel
        var phase = Phase.waiting
        /// Order in which the phases began.
        var since: UInt64
    }

    private struct State {
        var places: [ObjectIdentifier: Place] = [:]
        var changes: UInt64 = 0
    }

    private let maximum: Int
    private let state = Mutex(State())

    /// - Parameter maximum: Maximum number of connections, at least 1.
    init(maximum: Int) { self.maximum = maximum }

    var count: Int { state.withLock { $0.places.count } }

    /// Gives a new connection a place; if all are taken, closes another connection, or the new one if no other can be
    /// closed.
    func enter(_ channel: any Channel) {
        let closed = state.withLock { state -> (any Channel)? in
            state.changes += 1
            let place = Place(channel: channel, since: state.changes)
            guard state.places.count >= maximum else {
                state.places[ObjectIdentifier(channel)] = place
                return nil
            }
            let idle = state.places.filter { $0.value.phase != .busy }
            guard
                let oldest = idle.min(by: {
                    ($0.value.phase.rawValue, $0.value.since) < ($1.value.phase.rawValue, $1.value.since)
                })
            else { return channel }
            state.places[oldest.key] = nil
            state.places[ObjectIdentifier(channel)] = place
            return oldest.value.channel
        }
        closed?.close(promise: nil)
    }

    func move(_ channel: any Channel, to phase: Phase) {
        state.withLock { state in
            state.changes += 1
            state.places[ObjectIdentifier(channel)]?.phase = phase
            state.places[ObjectIdentifier(channel)]?.since = state.changes
        }
    }

    func leave(_ channel: any Channel) {
        state.withLock { $0.places[ObjectIdentifier(channel)] = nil }
    }
}

/// Watches one connection: the head of its request, and the whole request, must arrive in time.
///
/// Bytes that trickle in extend neither time.
final class CallbackDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Time from the start of a connection, or the end of a reply, to the whole head of the next request.
    static let headTime = TimeAmount.seconds(15)
    /// Time from the head of a request to the end of its body, and of the reply.
    static let requestTime = TimeAmount.seconds(75)

    private let connections: CallbackConnections
    private var deadline: Scheduled<Void>?
    private var hasRequestEnded = true
    private var hasAnswerEnded = true

    init(_ connections: CallbackConnections) { self.connections = connections }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { leave(context) }

    func channelInactive(context: ChannelHandlerContext) {
        leave(context)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            (hasRequestEnded, hasAnswerEnded) = (false, false)
            connections.move(context.channel, to: .busy)
            expect(within: Self.requestTime, context)
        case .body: break
        case .end:
            hasRequestEnded = true
            settle(context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            hasAnswerEnded = true
            settle(context)
        }
        context.write(data, promise: promise)
    }

    private func begin(_ context: ChannelHandlerContext) {
        connections.enter(context.channel)
        expect(within: Self.headTime, context)
    }

    private func settle(_ context: ChannelHandlerContext) {
        guard hasAnswerEnded else { return }
        guard hasRequestEnded else { return connections.move(context.channel, to: .answered) }
        connections.move(context.channel, to: .waiting)
        expect(within: Self.headTime, context)
    }

    private func expect(within time: TimeAmount, _ context: ChannelHandlerContext) {
        deadline?.cancel()
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }

    private func leave(_ context: ChannelHandlerContext) {
        deadline?.cancel()
        connections.leave(context.channel)
    }
}
