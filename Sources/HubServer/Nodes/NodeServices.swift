import HubProtocol
import HubStore
import Hummingbird
import Logging
import ServiceLifecycle

/// Services of a hub that shares its log with other nodes.
struct NodeServices: Sendable {
    let following: LogFollowing
    let abandonedJobs: AbandonedJobs
    let leaseKeeper: LeaseKeeper
    let forwarding: RequestForwarding
    private let others: OtherNodes
    private let store: HubStore
    private let writer: HubWriter
    private let configuration: HubConfiguration
    private let logger: Logger

    /// Creates the services; `onLeaseChange` is called when this node has gained or lost the lease.
    init(
        _ others: OtherNodes,
        opened: OpenedHubs,
        log: any OrderedLog,
        channel: any NodeChannel,
        directory: HubDirectory,
        writer: HubWriter,
        lease: NodeLease,
        configuration: HubConfiguration,
        logger: Logger,
        onLeaseChange: @escaping @Sendable () -> Void
    ) {
        store = opened.store
        self.others = others
        self.writer = writer
        self.configuration = configuration
        self.logger = logger
        following = LogFollowing(
            log: log,
            others: others,
            writer: writer,
            directory: directory,
            interval: configuration.presenceInterval
        )
        abandonedJobs = AbandonedJobs(
            store: store,
            directory: directory,
            lease: lease,
            others: others,
            configuration: configuration,
            logger: logger
        )
        leaseKeeper = LeaseKeeper(
            node: others.name,
            lease: lease,
            proof: opened.eligibility.proof,
            store: store,
            writer: writer,
            interval: configuration.leaseInterval,
            clock: configuration.monotonic,
            logger: logger,
            changed: onLeaseChange
        )
        let writers = WriterWatch(
            node: others.name,
            store: store,
            writer: writer,
            channel: channel,
            clock: configuration.monotonic
        )
        forwarding = RequestForwarding(writers: writers, channel: channel, store: store, writer: writer)
    }

    /// The service that receives messages of other nodes, and carries out the requests that they forward.
    func messages(_ responder: RouterResponder<HubRequestContext>, _ alarms: AlarmService) -> NodeMessages {
        let execution = ForwardedExecution(
            responder: responder,
            store: store,
            writers: forwarding.writers,
            others: others,
            logger: logger
        )
        return NodeMessages(
            channel: forwarding.channel,
            listeners: [
                NodeMessages.Kind.heartbeat: { [forwarding] in forwarding.writers.note($0) },
                NodeMessages.Kind.agents: { alarms.note(agents: $0) },
                NodeMessages.Kind.streams: { [others, writer, configuration] in
                    others.note(streams: $0, writer, at: configuration.timestamp)
                },
                NodeMessages.Kind.presence: { [others] in others.note(presence: $0) },
                NodeMessages.Kind.progress: { [others, writer] in others.note(progress: $0, writer) },
            ],
            answerers: [
                NodeMessages.Kind.forwardedRequest: { await execution.answer($0, isFenced: false) },
                NodeMessages.Kind.fencedRequest: { await execution.answer($0, isFenced: true) },
            ]
        )
    }
}
