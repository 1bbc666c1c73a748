import HubRouting
import HubStore
import Logging
import NIOCore
import Signals

/// The open hubs of this node, with their store, their writer, and the services that act on committed changes.
struct ServedHubs: Sendable {
    let configuration: HubConfiguration
    let logger: Logger
    let store: HubStore
    /// `nil` for a hub with one node.
    let others: OtherNodes?
    let lease: NodeLease
    let directory: HubDirectory
    let releases: ReleaseService
    let push: PushDelivery
    /// Signalled when a hub was deleted, and when the node may have got duties.
    let deletions = AsyncSignal()
    let writer: HubWriter

    /// Opens all hubs, and creates the writer, whose output goes to the directory and to push delivery.
    ///
    /// - Parameters:
    ///   - opened: The hubs, as they are stored.
    ///   - configuration: The configuration.
    ///   - eventLoops: The event loops of the streams.
    ///   - tls: The certificate, which the overview and alarms show.
    ///   - logger: The logger.
    init(
        _ opened: OpenedHubs,
        _ configuration: HubConfiguration,
        eventLoops: [any EventLoop],
        tls: CertificateReloader?,
        logger: Logger
    ) {
        self.configuration = configuration
        self.logger = logger
        (store, others) = (opened.store, opened.others)
        let directory = HubDirectory(
            store: store,
            epochs: opened.epochs,
            others: others,
            namespaceRules: opened.namespaceRules,
            eventLoops: eventLoops,
            tls: tls,
            configuration: configuration,
            logger: logger
        )
        self.directory = directory
        let eligibility = opened.eligibility
        lease = NodeLease(isShared: store.node != nil, clock: configuration.monotonic) { eligibility.obstacle }
        let releases = ReleaseService(directory, lease, lastSeen: opened.lastSeen)
        self.releases = releases
        let push = PushDelivery(directory, lease, isClockSteady: { releases.isClockSteady })
        self.push = push
        writer = HubWriter(
            store: store,
            machine: opened.machine,
            logger: logger,
            onProgress: configuration.onProgress
        ) { [deletions] output, writer, answer in
            directory.carryOut(output, writer, answer)
            push.carryOut(output)
            if !output.closed.isEmpty { deletions.signal() }
        }
        for hub in opened.hubs {
            guard let status = opened.machine.status(of: hub.record.id) else { continue }
            directory.open(hub.record, status, writer)
            push.note(hub.record.id, status.credentials)
        }
    }

    /// Notes that this node has got duties or lost them.
    func noteLease() {
        push.noteLease()
        deletions.signal()
    }
}
