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
    private let served: ServedHubs

    init(_ others: OtherNodes, _ log: any OrderedLog, _ served: ServedHubs) {
        self.others = others
        self.served = served
        following = LogFollowing(log, others, served)
        abandonedJobs = AbandonedJobs(served, others)
        leaseKeeper = LeaseKeeper(served, others)
        forwarding = RequestForwarding(writers: WriterWatch(served, others), channel: others.channel, served: served)
    }

    /// The service that receives messages of other nodes, and carries out the requests that they forward.
    func messages(
        _ responder: RouterResponder<HubRequestContext>,
        _ applications: [MountedApplication],
        _ alarms: AlarmService
    ) -> NodeMessages {
        let execution = ForwardedExecution(
            responder: responder,
            applications: applications,
            requests: MountedRequests(forwarding: forwarding),
            writers: forwarding.writers,
            others: others,
            served: served
        )
        return NodeMessages(
            channel: others.channel,
            listeners: [
                NodeMessages.Kind.heartbeat: { [forwarding] in forwarding.writers.note($0) },
                NodeMessages.Kind.agents: { alarms.note(agents: $0) },
                NodeMessages.Kind.streams: { [others, served] in
                    others.note(streams: $0, served.writer, at: served.configuration.timestamp)
                },
                NodeMessages.Kind.presence: { [others] in others.note(presence: $0) },
                NodeMessages.Kind.progress: { [others, served] in others.note(progress: $0, served.writer) },
            ],
            answerers: [
                NodeMessages.Kind.forwardedRequest: { await execution.answer($0, isFenced: false) },
                NodeMessages.Kind.fencedRequest: { await execution.answer($0, isFenced: true) },
                NodeMessages.Kind.figures: { [served] in await NodeRecords.figures($0, served) },
                NodeMessages.Kind.times: { [served] in await NodeRecords.times($0, served) },
            ]
        )
    }
}
