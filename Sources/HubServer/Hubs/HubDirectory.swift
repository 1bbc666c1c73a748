import HubProtocol
import HubStore
import NIOCore
import Synchronization

/// The hubs of a server, by name, with their streams' event loops; they come and go while it serves.
final class HubDirectory: Sendable {
    struct Member: Sendable {
        let hub: Hub
        /// One for each event loop of the server.
        let loops: [StreamLoop]
        let replay: ReplayService

        init(_ hub: Hub, eventLoops: [any EventLoop]) {
            let replay = ReplayService(hub: hub)
            self.hub = hub
            self.replay = replay
            let head = hub.state.withLock { $0.head }
            loops = eventLoops.map { eventLoop in
                StreamLoop(
                    eventLoop: eventLoop,
                    limits: hub.configuration.streamLimits,
                    encoding: hub.encoding,
                    counters: hub.counters,
                    head: head,
                    now: { hub.configuration.nowMilliseconds / 1000 },
                    requestPage: { replay.request($0) },
                    detached: { hub.detached($0, ordinal: $1, written: $2) },
                    noteProgress: { hub.noteProgress($0) }
                )
            }
        }

        /// Hands what has changed to the event loops.
        fileprivate func dispatch() {
            for (loop, commands) in zip(loops, hub.takeCommands()) where !commands.isEmpty {
                loop.eventLoop.execute { loop.apply(commands) }
            }
        }
    }

    private struct State {
        var members: [HubName: Member]
        /// Deleted hubs whose streams are yet to be told.
        var leaving: [Member] = []
        var namespaceRules: [AccessRule]
    }

    let eventLoops: [any EventLoop]
    /// Of all hubs.
    let streamQuota: StreamQuota
    let writeQuota: WriteQuota
    private let state: Mutex<State>
    private let loopIndices: [ObjectIdentifier: Int]

    init(
        members: [Member],
        namespaceRules: [AccessRule],
        eventLoops: [any EventLoop],
        streamQuota: StreamQuota,
        writeQuota: WriteQuota
    ) {
        self.streamQuota = streamQuota
        self.writeQuota = writeQuota
        let byName = Dictionary(uniqueKeysWithValues: members.map { ($0.hub.record.name, $0) })
        state = Mutex(State(members: byName, namespaceRules: namespaceRules))
        self.eventLoops = eventLoops
        loopIndices = Dictionary(
            uniqueKeysWithValues: eventLoops.enumerated().map { (ObjectIdentifier($1), $0) }
        )
    }

    /// In the order in which they were made.
    var all: [Member] {
        state.withLock { Array($0.members.values) }.sorted { $0.hub.record.id < $1.hub.record.id }
    }

    var namespaceRules: [AccessRule] { state.withLock { $0.namespaceRules } }

    /// Finds a hub by the first segment of a path, as it was sent.
    ///
    /// - Throws: 404 when there is none of this name.
    func member(named name: String) throws(ProtocolError) -> Member {
        guard let known = try? HubName(pathSegment: name), let member = state.withLock({ $0.members[known] }) else {
            throw .noHub(pathSegment: name)
        }
        return member
    }

    /// - Throws: 404 when there is none of this name.
    func hub(named name: String) throws(ProtocolError) -> Hub { try member(named: name).hub }

    /// The member that a hub is; `nil` when it was deleted, also when another of its name has come.
    private func member(of hub: Hub) -> Member? {
        state.withLock { $0.members[hub.record.name] }.flatMap { $0.hub === hub ? $0 : nil }
    }

    /// The stream loop of an event loop, the first one for an event loop of somebody else.
    func loop(of eventLoop: any EventLoop, for member: Member) -> (StreamLoop, index: Int) {
        let index = loopIndices[ObjectIdentifier(eventLoop)] ?? 0
        return (member.loops[index], index)
    }

    /// All stream loops of a hub.
    func loops(of hub: Hub) -> [StreamLoop] { member(of: hub)?.loops ?? [] }

    /// - Throws: 404 when the hub was deleted.
    func anyLoop(for hub: Hub) throws(ProtocolError) -> (StreamLoop, index: Int) {
        guard let member = member(of: hub) else { throw .noHub(hub.record.name.text) }
        let index = Int.random(in: member.loops.indices)
        return (member.loops[index], index)
    }

    /// Hands what a batch of the writer has changed to the event loops, in the order of the log.
    func dispatch() {
        let members = state.withLock { state in
            defer { state.leaving = [] }
            return Array(state.members.values) + state.leaving
        }
        for member in members { member.dispatch() }
    }
}

// MARK: - Changes, which the writer makes in the order of the log

extension HubDirectory {
    func insert(_ member: Member) {
        state.withLock { $0.members[member.hub.record.name] = member }
    }

    /// - Returns: The member that was removed; `nil` when the hub was not there any more.
    @discardableResult
    func remove(_ hub: Hub) -> Member? {
        state.withLock { state in
            guard let member = state.members[hub.record.name], member.hub === hub else { return nil }
            state.members[hub.record.name] = nil
            state.leaving.append(member)
            return member
        }
    }

    /// Takes over the namespace's rules, for itself and for every hub.
    func adopt(namespaceRules: [AccessRule]) {
        state.withLock { $0.namespaceRules = namespaceRules }
    }
}

// MARK: - Who may

extension Hub {
    /// Checks a request's token against this hub's rules and the namespace's.
    func grant(authorization: String?, path: String, needs right: AccessRights) throws(ProtocolError) -> Grant {
        try authorize(
            authorization,
            path: path,
            needs: right,
            rules: accessRules,
            now: configuration.nowMilliseconds / 1000
        )
    }
}
