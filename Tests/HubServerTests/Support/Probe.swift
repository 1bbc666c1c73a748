import HubProtocol
import NIOCore
import ServerSentEvents
import Synchronization

@testable import HubServer

/// A stream's output that keeps what it is given, and takes more only when it is told to.
final class Probe: StreamOutput, Sendable {
    private struct State {
        var decoder = ServerSentEventDecoder(maximumEventBytes: 4 << 20)
        var events: [ServerSentEvent] = []
        var writes = 0
        var isOpen = false
        var isClosed = false
        var refusal: ProtocolError?
        var takes = true
    }

    private let state = Mutex(State())

    func open() { state.withLock { $0.isOpen = true } }
    func close() { state.withLock { $0.isClosed = true } }
    func refuse(_ error: ProtocolError) { state.withLock { $0.refusal = error } }

    func write(_ bytes: ByteBuffer) -> Bool {
        state.withLock { state in
            state.writes += 1
            state.events += (try? state.decoder.decode(bytes.readableBytesView)) ?? []
            return state.takes
        }
    }

    var isOpen: Bool { state.withLock { $0.isOpen } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    var refusal: ProtocolError? { state.withLock { $0.refusal } }
    var writes: Int { state.withLock { $0.writes } }
    /// All blocks so far, in order.
    var events: [ServerSentEvent] { state.withLock { $0.events } }
    var names: [String] { events.compactMap(\.event) }
    /// The last id that was seen.
    var cursor: String? { events.last { $0.id != nil }?.id }

    var messages: [StreamEvent] {
        events.compactMap { event in
            event.event == nil ? event.data.flatMap { try? StreamEvent(parsing: $0) } : nil
        }
    }

    var titles: [String] { messages.map(\.title) }

    /// Decides whether the output takes more than what it is being given.
    func take(_ takes: Bool) { state.withLock { $0.takes = takes } }
}

/// A probe at a hub, and the session that feeds it.
struct ProbedStream: Sendable {
    let probe: Probe
    let session: StreamSession

    /// Takes no more, or takes on.
    func take(_ takes: Bool) {
        probe.take(takes)
        if takes { session.loop.eventLoop.execute { session.outputIsReady() } }
    }

    /// Ends as a lost connection does.
    func disconnect() { session.loop.eventLoop.execute { session.outputHasEnded() } }
}

extension TestHub {
    /// Attaches an agent's stream without a connection.
    func probe(_ agent: Agent, after cursor: String? = nil, loop: Int = 0, taking: Bool = true) throws -> ProbedStream {
        let probe = Probe()
        probe.take(taking)
        let session = StreamSession(loop: member.loops[loop], output: probe)
        hub.attach(
            session,
            loop: loop,
            StreamRequest(
                installation: try InstallationID(agent.id),
                grant: listenGrant,
                channel: agent.secret,
                lastEventID: cursor
            )
        )
        return ProbedStream(probe: probe, session: session)
    }

    var listenGrant: Grant {
        Grant(rights: .listen, credential: Credential(rule: listen.name, key: listen.primaryKey))
    }

    var manageGrant: Grant {
        Grant(rights: full.rights, credential: Credential(rule: full.name, key: full.primaryKey))
    }

    /// Stores an agent without a connection.
    func register(_ agent: Agent, as grant: Grant? = nil) async throws {
        try await hub.put(try agent.installation, bytes: 0, grant: grant ?? listenGrant, channel: agent.secret)
    }

    /// Accepts a message without a connection.
    @discardableResult
    func accept(_ title: String, tags: String? = nil, message: String? = nil, key: String? = nil) async throws
        -> MessageID
    {
        var properties: [MessageProperty: String] = ["title": title]
        if let message { properties["messageParam"] = message }
        return try await hub.accept(
            IncomingMessage(
                id: .random(),
                message: try Message(
                    audience: try tags.map { .matching(try TagExpression(parsing: $0)) } ?? .everybody,
                    body: MessageProperties(properties).encoded()
                ),
                idempotencyKey: key,
                contentHash: Array(title.utf8)
            )
        )
    }

    /// Accepts a message of format `stream`, to tags or to handles.
    @discardableResult
    func accept(native title: String, tags: String? = nil, handles: [String] = []) async throws -> MessageID {
        var audience = try tags.map { MessageAudience.matching(try TagExpression(parsing: $0)) } ?? .everybody
        if !handles.isEmpty { audience = .handles(handles.map { .handle($0) }) }
        let body = MessageProperties(["title": title]).encoded()
        return try await hub.accept(
            IncomingMessage(
                id: .random(),
                message: try Message(format: .stream, audience: audience, body: body),
                idempotencyKey: nil,
                contentHash: Array(title.utf8)
            )
        )
    }

    /// Waits until every stream has ended, takes nothing, or was handed all that it is owed up to the hub's head.
    func settle(_ streams: [ProbedStream]) async throws {
        let patience = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < patience {
            // What the first one waited behind is with the loops when the second one has run.
            await hub.writer.inOrder {}
            await hub.writer.inOrder {}
            var isSettled = true
            for stream in streams {
                let session = stream.session
                isSettled =
                    try await session.loop.eventLoop.submit {
                        session.hasEnded || stream.probe.refusal != nil || !session.isReady
                            || (session.isLive && !session.hasPending)
                    }.get() && isSettled
            }
            if isSettled { return }
            await Task.yield()
        }
        throw Unsettled(states: streams.map { "\($0.session.state) at \($0.session.cursor) of \(head)" })
    }

    struct Unsettled: Error {
        let states: [String]
    }
}
