import Formats
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import Logging
import NIOCore
import Synchronization

/// The hubs of a server by name, with the event loops of their streams; hubs are added and removed while it serves.
final class HubDirectory: Sendable {
    struct Member: Sendable {
        let hub: Hub
        /// One stream loop for each event loop of the server.
        let loops: [StreamLoop]

        fileprivate func endStreams() {
            let refusal = ProtocolError.noHub(hub.record.name.text)
            for loop in loops { loop.eventLoop.execute { loop.close(refusal) } }
        }
    }

    private struct State {
        var members: [HubKey: Member] = [:]
        var keys: [HubName: HubKey] = [:]
        var namespace: (rules: [AccessRule], tokens: TokenChecker)
    }

    let eventLoops: [any EventLoop]
    let replay = ReplayService()
    /// The stream quota of all hubs.
    let streamQuota: StreamQuota
    let writeQuota: WriteQuota
    /// `nil` for a server without TLS.
    let tls: CertificateReloader?
    let startedAt: Timestamp
    private let store: HubStore
    let epochs: EpochHistory
    private let others: OtherNodes?
    let configuration: HubConfiguration
    let logger: Logger
    private let state: Mutex<State>
    private let loopIndices: [ObjectIdentifier: Int]

    init(
        store: HubStore,
        epochs: EpochHistory,
        others: OtherNodes? = nil,
        namespaceRules: [AccessRule],
        eventLoops: [any EventLoop],
        tls: CertificateReloader? = nil,
        configuration: HubConfiguration,
        logger: Logger
    ) {
        self.store = store
        self.epochs = epochs
        self.others = others
        self.eventLoops = eventLoops
        self.tls = tls
        startedAt = configuration.timestamp
        self.configuration = configuration
        self.logger = logger
        streamQuota = StreamQuota(configuration.streamLimit, clock: configuration.monotonic)
        writeQuota = WriteQuota(configuration.writeLimit, clock: configuration.monotonic)
        state = Mutex(State(namespace: (namespaceRules, TokenChecker(AccessRules(namespace: namespaceRules)))))
        loopIndices = Dictionary(
            uniqueKeysWithValues: eventLoops.enumerated().map { (ObjectIdentifier($1), $0) }
        )
    }

    /// In order of creation.
    var all: [Member] {
        state.withLock { Array($0.members.values) }.sorted { $0.hub.record.id < $1.hub.record.id }
    }

    /// The hubs without their stream loops, in order of creation.
    var hubs: [Hub] { all.map(\.hub) }

    var namespaceRules: [AccessRule] { state.withLock { $0.namespace.rules } }
    var namespaceTokens: TokenChecker { state.withLock { $0.namespace.tokens } }

    /// Finds a hub by the first segment of a path as received.
    ///
    /// - Throws: 404 if there is no hub of this name.
    func member(named name: String) throws(ProtocolError) -> Member {
        guard
            let known = try? HubName(pathSegment: name),
            let member = state.withLock({ state in state.keys[known].flatMap { state.members[$0] } })
        else { throw .noHub(pathSegment: name) }
        return member
    }

    /// - Throws: 404 if there is no hub of this name.
    func hub(named name: String) throws(ProtocolError) -> Hub { try member(named: name).hub }

    /// The stream loop on an event loop; the first one for an event loop that is not the server's.
    ///
    /// - Throws: 404 if the hub was deleted.
    func loop(of eventLoop: any EventLoop, for hub: Hub) throws(ProtocolError) -> StreamLoop {
        let (loops, index) = (loops(of: hub), loopIndices[ObjectIdentifier(eventLoop)] ?? 0)
        guard loops.indices.contains(index) else { throw .noHub(hub.record.name.text) }
        return loops[index]
    }

    /// All stream loops of a hub; none if it was deleted.
    func loops(of hub: Hub) -> [StreamLoop] {
        state.withLock { $0.members[hub.record.id] }?.loops ?? []
    }

    /// - Throws: 404 if the hub was deleted.
    func anyLoop(for hub: Hub) throws(ProtocolError) -> StreamLoop {
        guard let loop = loops(of: hub).randomElement() else { throw .noHub(hub.record.name.text) }
        return loop
    }
}

extension HubDirectory {
    /// Does work for each hub; the failure of one does not keep the others from it, but a lost lease or a cancellation
    /// ends the work.
    ///
    /// - Throws: The first failure, but none of a hub that was deleted meanwhile.
    func forEachHub(_ work: (Hub) async throws -> Void) async throws {
        var failure: (any Error)?
        for hub in hubs {
            do {
                try await work(hub)
            } catch let error where error is CancellationError || error is LeaseLost {
                throw error
            } catch  where hub.isDeleted {
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// This server and the others that share its log; `nil` if there are none.
    func nodeReport(_ writer: HubWriter) -> HubOverview.Node? { others?.report(cutOffSince: writer.health.cutOffSince) }
}

// MARK: - The writer's output, in log order

extension HubDirectory {
    /// Carries out the actions that a batch of changes requires: first what requests see, then `answer`, then what
    /// streams get.
    func carryOut(_ output: NamespaceMachine.Output, _ writer: HubWriter, _ answer: () -> Void) {
        if let rules = output.rules {
            state.withLock { $0.namespace = (rules, TokenChecker(AccessRules(namespace: rules))) }
        }
        for record in output.opened {
            if let status = output.hubs[record.id]?.status { open(record, status, writer) }
        }
        var work: [(loop: StreamLoop, commands: [StreamCommand])] = []
        for (key, (status, commands)) in output.hubs {
            guard let member = state.withLock({ $0.members[key] }) else { continue }
            member.hub.publish(status)
            work += zip(member.loops, commands).filter { !$1.isEmpty }
        }
        let closed = output.closed.compactMap(close)
        answer()
        for (loop, commands) in work { loop.eventLoop.execute { loop.apply(commands) } }
        for (key, streams) in output.attached { others?.announce(streams, of: key) }
        for member in closed { member.endStreams() }
    }

    /// Adds a hub, which accepts streams from now on.
    func open(_ record: HubRecord, _ status: HubStatus, _ writer: HubWriter) {
        let hub = Hub(
            record,
            status: status,
            store: store,
            writer: writer,
            epochs: epochs,
            others: others,
            configuration: configuration,
            logger: logger
        )
        let host = StreamHost(
            now: { hub.configuration.timestamp },
            post: { writer.post($0, to: record.id) },
            requestPage: { [replay] in replay.request($0, of: hub) },
            noteOversize: { hub.noteOversize($0) },
            noteWritten: { hub.counters.times.note($1, of: $0) }
        )
        let loops = eventLoops.enumerated().map { index, eventLoop in
            StreamLoop(
                eventLoop: eventLoop,
                index: index,
                limits: configuration.streamLimits,
                reserved: configuration.reservedTags,
                encoding: hub.encoding,
                counters: hub.counters.streams,
                head: status.head,
                host: host
            )
        }
        for loop in loops { loop.start() }
        state.withLock { state in
            state.members[record.id] = Member(hub: hub, loops: loops)
            state.keys[record.name] = record.id
        }
    }

    /// Removes a hub, whose streams still have to end.
    private func close(_ key: HubKey) -> Member? {
        let member = state.withLock { state in
            let member = state.members.removeValue(forKey: key)
            if let name = member?.hub.record.name, state.keys[name] == key { state.keys[name] = nil }
            return member
        }
        member?.hub.close()
        return member
    }
}

extension ProtocolError {
    /// `name` is spelled as the client wrote it.
    static func noHub(_ name: String) -> ProtocolError {
        .notFound("There is no hub named '\(String(name.prefix(HubName.maximumLength)).excerpt)' here.")
    }

    /// `pathSegment` is percent-encoded as received.
    static func noHub(pathSegment: String) -> ProtocolError {
        .noHub(PercentEncoding.decode(pathSegment) ?? pathSegment)
    }
}
