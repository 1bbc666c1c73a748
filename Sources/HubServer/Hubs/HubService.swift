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
package import SQLiteFiles
import Signals
import Synchronization
import UnixSignals
import WebEdge

/// A hub server with its file and its port.
package final class HubService: Sendable {
    let served: ServedHubs
    let housekeeping: Housekeeping
    let jobs: JobService
    let hubPurge: HubPurgeService
    let alarms: AlarmService
    let figures: FigureKeeper
    let management: HubManagement
    /// `nil` for a hub with one node.
    let nodes: NodeServices?
    private let secrets: SecretBox
    private let edge: ServerEdge
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
        try await NodeRefusal.checkFiles(configuration, of: log)
        edge = try ServerEdge(configuration, logger: logger)
        let opened = try await OpenedHubs(configuration, log: log, channel: channel, logger: logger)
        group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.eventLoops)
        let served = ServedHubs(
            opened,
            configuration,
            eventLoops: Array(group.makeIterator()),
            tls: edge.tls,
            logger: logger
        )
        self.served = served
        secrets = opened.secrets
        usesTables = opened.usesTables
        housekeeping = Housekeeping(served, opened)
        alarms = AlarmService(served, channel)
        figures = FigureKeeper(served)
        try await alarms.load(isRestored: opened.start.restore != nil)
        jobs = JobService(served: served)
        hubPurge = HubPurgeService(served: served, jobs: jobs)
        management = HubManagement(served, jobs: jobs)
        nodes = opened.others.map { NodeServices($0, log, served) }
    }

    var directory: HubDirectory { served.directory }
    var releases: ReleaseService { served.releases }
    var push: PushDelivery { served.push }
    var lease: NodeLease { served.lease }
    var tls: CertificateReloader? { edge.tls }
    private var configuration: HubConfiguration { served.configuration }
    private var logger: Logger { served.logger }

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
        var services: [any Service] = [served.writer]
        // The keeper gives the duties back after the services below have stopped.
        if let nodes { services += [nodes.following, nodes.leaseKeeper] }
        services += [directory.replay, hubPurge, jobs, housekeeping, releases, push, alarms, figures, keyWatch]
        services.append(MemoryReturn())
        if let nodes {
            services += [
                nodes.abandonedJobs, nodes.forwarding.writers, nodes.messages(responder(nil), applications, alarms),
            ]
        }
        // Applications stop after the requests that need them.
        services += applications.flatMap(\.services)
        services += listener(applications).services(onRunning: running)
        if let watchdog {
            services.append(Liveness(watchdog: watchdog, writer: served.writer, eventLoops: directory.eventLoops))
        }
        services.append(StreamCloser(served: served, onStopping: onStopping))
        try await ServiceGroup.run(
            services,
            stopsOnSignals: stopsOnSignals,
            drain: configuration.drain,
            logger: logger
        ) {
            try await close(endsProcess: stopsOnSignals)
        }
    }

    /// The services that accept and answer requests on the hub's port.
    private func listener(_ applications: [MountedApplication]) -> PortListener<MountingResponder> {
        let metrics = MetricsPage(
            served: served,
            responses: edge.responses,
            applications: applications,
            startedAt: configuration.now().timeIntervalSince1970
        )
        return PortListener(
            host: configuration.host,
            port: configuration.port,
            responder: MountingResponder(
                applications: applications,
                requests: nodes.map { MountedRequests(forwarding: $0.forwarding) },
                hubs: responder(OwnPages(metrics: metrics)),
                proxies: ProxyNotice(TrustedProxies(configuration.trustedProxies), logger: logger)
            ),
            streams: StreamGate(
                hubs: directory,
                applications: applications,
                edge: edge,
                crossOrigin: CrossOrigin(configuration.corsOrigins)
            ),
            edge: edge,
            group: group
        )
    }

    private func responder(_ pages: OwnPages?) -> RouterResponder<HubRequestContext> {
        RouteTable.responder(hubs: management, edge: edge, pages: pages, forwarding: nodes?.forwarding)
    }

    private func close(endsProcess: Bool) async throws {
        if !endsProcess { try await group.shutdownGracefully() }
        served.others?.announcePresence(isLeaving: true)
        try served.store.close()
    }

    /// Returns when this node has applied what other nodes have written until now; see ``HubWriter/catchUp(to:)``.
    package func catchUp() async throws { try await served.writer.catchUp() }

    /// The connection string of each rule of the primary hub; the one with Listen only comes first.
    package func connectionStrings(endpoint: String) throws -> [ConnectionString] {
        try Self.connectionStrings(primaryRules, endpoint)
    }

    private var primaryRules: [AccessRule] { primaryHub?.status.rules.hub ?? [] }

    /// The hub with the configured name, or else the oldest one.
    private var primaryHub: Hub? {
        let hubs = directory.hubs
        return hubs.first { $0.record.name == configuration.hubName } ?? hubs.first
    }

    /// The name of the hub in this server's connection strings; the configured name if no hub exists.
    package var primaryHubName: HubName { primaryHub?.record.name ?? configuration.hubName }

    /// The names of all hubs, disabled or not.
    package var hubNames: [HubName] { directory.hubs.map(\.record.name) }

    /// True if a hub exists, disabled or not.
    package func has(_ name: HubName) -> Bool { (try? directory.hub(named: name.text)) != nil }

    /// The hub of a name for this process; `nil` if it is unknown or disabled.
    package func localHub(_ name: HubName) -> LocalHub? {
        guard let hub = try? directory.hub(named: name.text), !hub.status.isDisabled else { return nil }
        return LocalHub(name: hub.record.name, management: management)
    }

    /// The primary hub for this process, even while it is disabled.
    package var primaryLocalHub: LocalHub { LocalHub(name: primaryHubName, management: management) }

    /// Answers the request of an application's client for a stream that the application has admitted.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - opening: The stream, which becomes the body of the response.
    ///   - channel: The client's connection.
    /// - Returns: The stream, or the hub's refusal.
    package func response(to request: Request, opening: StreamOpening, on channel: any Channel) async -> Response {
        edge.connections.prove(channel)
        let response = await RefusalReplies(logger: logger).answer(request) { try await opening.response() }
        edge.responses.add(ResponseCounts.stream, status: response.status.code)
        return response
    }

    /// The tables of the app backend and the pages in the hub's file.
    package var tables: any TableDatabase { HubTables(store: served.store, writer: served.writer) }

    /// True if the hub shares its log with other nodes.
    package var sharesLog: Bool { nodes != nil }

    /// True if app backend and pages have their tables in the hub's file: since it shares its log, or has done so.
    package let usesTables: Bool

    /// True if changes are made at this node: other nodes pass theirs to it, or there are none.
    package var isWriter: Bool { nodes.map { $0.forwarding.writers.otherWriter == nil } ?? true }

    /// A key for other purposes that is derived from the hub's, and is the same at all nodes.
    package func derivedKey(_ purpose: String) -> [UInt8] { secrets.derivedKey(purpose) }

    /// Answers requests for feeds of all hubs.
    package var feeds: PublicFeeds { PublicFeeds(directory, configuration, edge) }

    /// Records that a connection has sent valid credentials of a mounted application, so that it is not closed in
    /// favour of others.
    package func prove(_ channel: any Channel) { edge.connections.prove(channel) }

    /// Number of open connections, and of those among them that have not shown a valid token.
    var connectionCounts: (open: Int, unproven: Int) { edge.connections.counts }

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
