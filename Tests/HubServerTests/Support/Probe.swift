import HubProtocol
import HubRouting
import HubStreams
import NIOCore
import StreamProbe

@testable import HubServer

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
        let loop = member.loops[loop]
        let session = try loop.eventLoop.submit { loop.open(probe) }.wait()
        hub.attach(session, try opening(agent, of: hub, listenGrant, after: cursor))
        return ProbedStream(probe: probe, session: session)
    }

    /// An admitted request for an agent's stream.
    func opening(_ agent: Agent, of hub: Hub, _ grant: Grant, after cursor: String? = nil) throws -> StreamOpening {
        StreamOpening(
            operations: HubOperations(hub: hub, directory: service.directory, grant: grant, source: nil),
            installation: try InstallationID(agent.id),
            channel: agent.secret,
            lastEventID: cursor,
            hasHeartbeatEvents: false
        )
    }

    var listenGrant: Grant {
        Grant(rights: .listen, credential: Credential(rule: listen.name, key: listen.primaryKey))
    }

    var manageGrant: Grant {
        Grant(rights: full.rights, credential: Credential(rule: full.name, key: full.primaryKey))
    }

    /// Stores an agent without a connection.
    func register(_ agent: Agent, as grant: Grant? = nil) async throws {
        try await hub.installations.put(
            try agent.installation,
            bytes: 0,
            grant: grant ?? listenGrant,
            channel: agent.secret
        )
    }

    /// Accepts a message without a connection.
    @discardableResult
    func accept(_ title: String, tags: String? = nil, message: String? = nil, key: String? = nil) async throws
        -> MessageID
    {
        var properties: [MessageProperty: String] = ["title": title]
        if let message { properties["messageParam"] = message }
        return try await accept(tags: tags, with: properties, key: key)
    }

    /// Accepts a message with these properties.
    func accept(tags: String?, with properties: [MessageProperty: String], key: String? = nil) async throws
        -> MessageID
    {
        let body = MessageProperties(properties).encoded()
        return try await hub.messages.accept(
            IncomingMessage(
                id: .random(),
                message: try Message(
                    audience: try tags.map { .matching(try TagExpression(parsing: $0)) } ?? .everybody,
                    body: body
                ),
                idempotencyKey: key,
                contentHash: Array((properties["title"] ?? "").utf8)
            )
        )
    }

    /// Accepts a message of format `stream`, to tags or to handles.
    @discardableResult
    func accept(native title: String, tags: String? = nil, handles: [String] = []) async throws -> MessageID {
        var audience = try tags.map { MessageAudience.matching(try TagExpression(parsing: $0)) } ?? .everybody
        if !handles.isEmpty { audience = .handles(handles.map { .handle($0) }) }
        let body = MessageProperties(["title": title]).encoded()
        return try await hub.messages.accept(
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
            await hub.writer.passInOrder()
            await hub.writer.passInOrder()
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
        }
        throw Unsettled(states: streams.map { "\($0.session.state) at \($0.session.cursor) of \(head)" })
    }

    struct Unsettled: Error {
        let states: [String]
    }
}
