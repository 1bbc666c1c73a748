import Foundation
package import HubProtocol
import HubRouting
package import HubStore
package import Hummingbird
import HummingbirdCore
package import Logging
import NetworkAddresses
package import NIOCore
import NIOPosix
import ServiceLifecycle
import Signals
import Synchronization
import UnixSignals
import WebEdge

/// A hub server with its file and its port.
package final class HubService: Sendable {
    private let configuration: HubConfiguration
    private let logger: Logger
    private let store: HubStore
    private let writer: HubWriter
    let directory: HubDirectory
    let housekeeping: Housekeeping
    private let others: OtherNodes?
    let management: HubManagement
    let hubPurge: HubPurgeService
    let jobs: JobService
    let releases: ReleaseService
    let push: PushDelivery
    let alarms: AlarmService
    let lease: NodeLease
    /// `nil` for a hub with one node.
    let nodes: NodeServices?
    let tls: CertificateReloader?
    private let connections: ConnectionQuota
    private let responses = ResponseCounts()
    private let client: ClientAddress
    private let group: MultiThreadedEventLoopGroup

    /// Opens the file and loads its content; a new file gets a hub and its rules.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - log: The log that the hub shares with other nodes.
    ///   - channel: Messages between these nodes.
    ///   - logger: The logger.
    /// - Throws: `DatabaseFileError`, ``HubStoreError``, ``OrderedLogError`` or a `DatabaseError` if the file cannot be used;
    ///   ``CertificateProblem``.
    package init(
        _ configuration: HubConfiguration,
        log: any OrderedLog = EmbeddedLog(),
        channel: any NodeChannel = NoOtherNodes(),
        logger: Logger
    ) async throws {
        self.configuration = configuration
        self.logger = logger
        connections = ConnectionQuota(
            configuration.connectionLimits,
            grouping: configuration.grouping,
            clock: configuration.monotonic
        )
        client = ClientAddress(
            publicAddress: configuration.publicAddress,
            port: configuration.port,
            trustedProxies: configuration.trustedProxies,
            hostNames: configuration.hostNames
        )
        try await NodeRefusal.checkFiles(configuration, of: log)
        tls = try configuration.certificate.map { try CertificateReloader($0, now: configuration.now, logger: logger) }
        let opened = try await OpenedHubs(configuration, log: log, channel: channel, logger: logger)
        store = opened.store
        others = opened.others
        group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.eventLoops)
        let directory = HubDirectory(
            store: store,
            epochs: opened.epochs,
            others: others,
            namespaceRules: opened.namespaceRules,
            eventLoops: Array(group.makeIterator()),
            tls: tls,
            configuration: configuration,
            logger: logger
        )
        self.directory = directory
        let eligibility = opened.eligibility
        lease = NodeLease(isShared: store.node != nil, clock: configuration.monotonic) { eligibility.obstacle }
        let releases = ReleaseService(
            hubs: { directory.all.map(\.hub) },
            lease: lease,
            configuration: configuration,
            logger: logger,
            lastSeen: opened.lastSeen
        )
        self.releases = releases
        let push = PushDelivery(
            hubs: { directory.all.map(\.hub) },
            lease: lease,
            isClockSteady: { releases.isClockSteady },
            logger: logger
        )
        self.push = push
        let deletions = AsyncSignal()
        writer = HubWriter(
            store: store,
            machine: opened.machine,
            logger: logger,
            onProgress: configuration.onProgress
        ) { output, writer in
            directory.carryOut(output, writer)
            push.carryOut(output)
            if !output.closed.isEmpty { deletions.signal() }
        }
        for hub in opened.hubs {
            guard let status = opened.machine.status(of: hub.record.id) else { continue }
            directory.open(hub.record, status, writer)
            push.note(hub.record.id, status.credentials)
        }
        housekeeping = Housekeeping(
            store: store,
            writer: writer,
            directory: directory,
            lease: lease,
            generationFile: opened.generationFile,
            configuration: configuration,
            logger: logger,
            lastSeen: opened.lastSeen
        )
        alarms = AlarmService(
            store: store,
            directory: directory,
            lease: lease,
            channel: channel,
            configuration: configuration,
            isClockSteady: { releases.isClockSteady },
            logger: logger
        )
        try await alarms.load(isRestored: opened.start.restore != nil)
        jobs = JobService(store: store, directory: directory, configuration: configuration, logger: logger)
        hubPurge = HubPurgeService(
            store: store,
            writer: writer,
            jobs: jobs,
            lease: lease,
            deletions: deletions,
            configuration: configuration,
            logger: logger
        )
        management = HubManagement(
            directory: directory,
            store: store,
            writer: writer,
            jobs: jobs,
            configuration: configuration,
            logger: logger
        )
        nodes = others.map { [lease, writer] others in
            NodeServices(
                others,
                opened: opened,
                log: log,
                channel: channel,
                directory: directory,
                writer: writer,
                lease: lease,
                configuration: configuration,
                logger: logger
            ) {
                push.noteLease()
                deletions.signal()
            }
        }
    }

    /// Serves until the task is cancelled or a signal requests a stop; streams then end first, and accepted changes are
    /// written.
    ///
    /// - Parameters:
    ///   - applications: Served on the same port.
    ///   - stopsOnSignals: True if SIGTERM and SIGINT request a stop, after which the process ends. The threads then
    ///     live until the process ends: Hummingbird's server does not wait for the task that stops it, which may still
    ///     use an event loop.
    ///   - watchdog: Notified regularly as long as the hub works.
    ///   - onRunning: Called with the port when connections are accepted.
    ///   - onKeysChanged: Called with the port when a connection string has changed.
    ///   - onStopping: Called when a stop begins.
    /// - Throws: ``HubListenError``, or the error of a part of the hub that failed.
    package func run(
        mounting applications: [MountedApplication] = [],
        stopsOnSignals: Bool = false,
        watchdog: HubWatchdog? = nil,
        onRunning: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
        onKeysChanged: @escaping @Sendable (_ port: Int) -> Void = { _ in },
        onStopping: @escaping @Sendable () -> Void = {}
    ) async throws {
        let keyWatch = KeyWatch { [self] in primaryRules + directory.namespaceRules }
        let running: @Sendable (Int) async -> Void = { port in
            await onRunning(port)
            keyWatch.begin { onKeysChanged(port) }
        }
        var services: [any Service] = [writer]
        // The keeper gives the duties back after the services below have stopped.
        if let nodes { services += [nodes.following, nodes.leaseKeeper] }
        services += [directory.replay, hubPurge, jobs, housekeeping, releases, push, alarms, keyWatch, MemoryReturn()]
        if let nodes {
            services += [nodes.abandonedJobs, nodes.forwarding.writers, nodes.messages(responder(nil), alarms)]
        }
        // Applications stop after the requests that need them.
        services += applications.flatMap(\.services)
        services += listener(applications).services(onRunning: running)
        if let tls { services.append(tls) }
        if let watchdog {
            services.append(Liveness(watchdog: watchdog, writer: writer, eventLoops: directory.eventLoops))
        }
        services.append(StreamCloser(hubs: directory, writer: writer, onStopping: onStopping))
        var group = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: stopsOnSignals ? [.sigterm, .sigint] : [],
            logger: logger.quieter
        )
        group.maximumGracefulShutdownDuration = configuration.drain
        do {
            try await ServiceGroup(configuration: group).runStoppingWhenCancelled()
        } catch {
            try await close(endsProcess: stopsOnSignals)
            throw HubListenError(error) ?? error
        }
        try await close(endsProcess: stopsOnSignals)
    }

    /// The services that accept and answer requests on the hub's port.
    private func listener(_ applications: [MountedApplication]) -> PortListener<MountingResponder> {
        let metrics = MetricsPage(
            hubs: directory,
            writer: writer,
            store: store,
            responses: responses,
            applications: applications,
            configuration: configuration,
            startedAt: configuration.now().timeIntervalSince1970
        )
        let pages = RouteTable.OwnPages(
            health: Health(writer: writer, applications: applications),
            metrics: metrics
        )
        return PortListener(
            host: configuration.host,
            port: configuration.port,
            responder: MountingResponder(
                applications: applications,
                hubs: responder(pages),
                proxies: ProxyNotice(TrustedProxies(configuration.trustedProxies), logger: logger)
            ),
            streams: StreamGate(
                hubs: directory,
                applications: applications,
                client: client,
                connections: connections,
                responses: responses,
                crossOrigin: CrossOrigin(configuration.corsOrigins),
                logger: logger
            ),
            client: client,
            connections: connections,
            tls: tls,
            takesPlainHTTP: configuration.takesPlainHTTP,
            limits: configuration.connectionLimits,
            group: group,
            logger: logger
        )
    }

    private func responder(_ pages: RouteTable.OwnPages?) -> RouterResponder<HubRequestContext> {
        RouteTable.responder(
            hubs: management,
            client: client,
            connections: connections,
            responses: responses,
            pages: pages,
            forwarding: nodes?.forwarding,
            logger: logger
        )
    }

    private func close(endsProcess: Bool) async throws {
        if !endsProcess { try await group.shutdownGracefully() }
        others?.announcePresence(isLeaving: true)
        try store.close()
    }

    /// Returns when this node has applied what other nodes have written until now; see ``HubWriter/catchUp(to:)``.
    func catchUp() async throws { try await writer.catchUp() }

    /// The connection string of each rule of the primary hub; the one with Listen only comes first.
    package func connectionStrings(endpoint: String) throws -> [ConnectionString] {
        try Self.connectionStrings(primaryRules, endpoint)
    }

    private var primaryRules: [AccessRule] { primaryHub?.status.rules.hub ?? [] }

    /// The hub with the configured name, or else the oldest one.
    private var primaryHub: Hub? {
        let hubs = directory.all.map(\.hub)
        return hubs.first { $0.record.name == configuration.hubName } ?? hubs.first
    }

    /// The name of the hub in this server's connection strings; the configured name if no hub exists.
    package var primaryHubName: HubName { primaryHub?.record.name ?? configuration.hubName }

    /// The names of all hubs, disabled or not.
    package var hubNames: [HubName] { directory.all.map(\.hub.record.name) }

    /// True if a hub exists, disabled or not.
    package func has(_ name: HubName) -> Bool { (try? directory.hub(named: name.text)) != nil }

    /// The hub of a name for this process; `nil` if it is unknown or disabled.
    package func localHub(_ name: HubName) -> LocalHub? {
        guard let hub = try? directory.hub(named: name.text), !hub.status.isDisabled else { return nil }
        return LocalHub(hub.record.name, management, logger: logger)
    }

    /// The primary hub for this process, even while it is disabled.
    package var primaryLocalHub: LocalHub { LocalHub(primaryHubName, management, logger: logger) }

    /// Answers the request of an application's client for a stream that the application has admitted.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - opening: The stream, which becomes the body of the response.
    ///   - channel: The client's connection.
    /// - Returns: The stream, or the hub's refusal.
    package func response(to request: Request, opening: StreamOpening, on channel: any Channel) async -> Response {
        connections.prove(channel)
        let response = await RefusalReplies(logger: logger).answer(request) { try await opening.response() }
        responses.add(ResponseCounts.stream, status: response.status.code)
        return response
    }

    /// Answers requests for feeds of all hubs.
    package var feeds: PublicFeeds {
        PublicFeeds(
            directory,
            configuration,
            client: client,
            connections: connections,
            responses: responses,
            logger: logger
        )
    }

    /// Records that a connection has sent valid credentials of a mounted application, so that it is not closed in
    /// favour of others.
    package func prove(_ channel: any Channel) { connections.prove(channel) }

    /// Number of open connections, and of those among them that have not shown a valid token.
    var connectionCounts: (open: Int, unproven: Int) { connections.counts }

    /// The connection string of each rule of the namespace.
    package func namespaceConnectionStrings(endpoint: String) throws -> [ConnectionString] {
        try Self.connectionStrings(directory.namespaceRules, endpoint)
    }

    private static func connectionStrings(_ rules: [AccessRule], _ endpoint: String) throws -> [ConnectionString] {
        try rules.sorted { $0.rights.rawValue < $1.rights.rawValue }.map {
            try ConnectionString(endpoint: endpoint, keyName: $0.name, key: $0.primaryKey)
        }
    }
}
