import AppBackend
import Certificates
import Foundation
import HostSystem
import HubProtocol
import HubServer
import Logging
import MountedBackend
import NetworkAddresses
import OutboundHTTP
import PageServer
import ReplicatedLog
import SQLiteFiles
import Settings
import StartupChecks
import WebPages

/// A start of the hub with its complete configuration; its state directory is locked.
struct HubLaunch {
    let configuration: HubConfiguration
    let plan: HubPlan
    let state: StateDirectory
    let settings: Settings
    let isEmulated: Bool
    let http: OutboundClient

    private var logger: Logger { plan.logger }
    private var listen: String { configuration.host }

    /// Serves until a signal stops the process.
    func serve() async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        // Closing the terminal must end a hub that was started there; a service ignores hang-ups.
        if !Console.isInteractive { TerminationSignals.ignoreHangUps() }
        guard let shared = plan.log else { return try await serve(nil) }
        let log = try await ReplicatedLog.connect(shared, logger: logger)
        try await closing({ await log.close() }) { try await serve(log) }
    }

    private func serve(_ replicated: ReplicatedLog?) async throws {
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        var configuration = configuration
        configuration.onWaiting = { notifier?.waiting($0) }
        configuration.onTables = { try await copyFiles(into: $0) }
        let service: HubService =
            if let replicated {
                try await HubService(configuration, log: replicated.log, channel: replicated.channel, logger: logger)
            } else {
                try await HubService(configuration, logger: logger)
            }
        let backendLock = plan.servesAppBackend && !service.usesTables ? try lockBackend() : nil
        defer { backendLock?.close() }
        let servesBackend = backendLock != nil || plan.servesAppBackend && service.usesTables
        let backend = servesBackend ? try mountBackend(on: service) : nil
        let pages = try mountPages(on: service, configuration, backend: backend)
        let watchdog = notifier.flatMap { notifier in
            notifier.watchdogInterval.map { interval in HubWatchdog(interval: interval) { notifier.watchdog() } }
        }
        let say = { @Sendable (port: Int, isFirst: Bool) in
            do {
                try announce(service, port: port, pages: pages, isFirst: isFirst)
            } catch {
                logger.error("cannot write the connection strings", metadata: ["error.reason": "\(error)"])
            }
        }
        do {
            try await service.run(
                mounting: [
                    backend?.application, pages?.application, try localChanges(of: service),
                    service.nodeAdmission(in: state.path),
                ].compactMap(\.self),
                stopsOnSignals: true,
                watchdog: watchdog
            ) { boundPort in
                say(boundPort, true)
                logger.notice(
                    "the hub is ready",
                    metadata: ["listen.address": "\(listen):\(boundPort)", "state.path": "\(state.path)"]
                )
                notifier?.ready()
            } onKeysChanged: { boundPort in
                say(boundPort, false)
            } onStopping: {
                notifier?.stopping()
            }
        } catch let error as HubListenError {
            throw Failure(error, listen: listen, port: configuration.port)
        }
    }

    /// Writes the connection strings for this machine to the state directory, and prints those for other machines on a
    /// terminal.
    private func announce(_ service: HubService, port: Int, pages: PageServer?, isFirst: Bool) throws {
        let local = HubEndpoint.localEndpoint(listen: listen, port: port)
        try HubFiles.write(
            hub: try service.connectionStrings(endpoint: local),
            namespace: try service.namespaceConnectionStrings(endpoint: local),
            to: state
        )
        let shown = plan.endpoint.connectionEndpoint(port: port)
        try PrivateFile.write("\(shown)\n", to: state.file(HubFiles.endpoint))
        guard isFirst, Console.isInteractive else { return }
        for string in try service.connectionStrings(endpoint: shown) {
            let isForAgents = string.keyName == AccessRule.defaultListenName
            Console.notice("\(isForAgents ? "for agents" : "for publishers, keep it secret"): \(string)")
        }
        if let pages {
            let page = "\(local)-/\(service.primaryHubName)/"
            let isOpen = pages.isOpenHere
            Console.notice(isOpen ? "for readers on this machine: \(page)" : "for readers: newswire hub invite")
        }
        if isEmulated {
            let file = state.file(HubFiles.Connection.full.rawValue)
            return Console.notice("your programs on this machine find the hub with NEWSWIRE_CONNECTION_FILE=\(file)")
        }
        // The clients of a proxy meet its certificate.
        let address = plan.endpoint.publicAddress
        guard case .local = plan.endpoint.certificate,
            !address.isOfProxy(trusted: configuration.trustedProxies, listen: listen)
        else { return }
        Console.notice("clients on other machines must trust the hub's certificate: see 'newswire hub certificate'")
    }

    /// Copies accounts and sessions of a hub that had no log into the tables that all hubs of the log have.
    private func copyFiles(into tables: StartTables) async throws {
        guard let lock = try FileLock.acquire(state.file(HubFiles.backendLock)) else {
            return logger.warning(
                "accounts are not copied into the log: 'newswire backend' is using the state directory",
                metadata: ["state.path": "\(state.path)"]
            )
        }
        defer { lock.close() }
        let (accounts, pages) = (state.file(HubFiles.backend), state.file(HubFiles.pages))
        let key = state.file(HubFiles.backendKey)
        let hubBox = PayloadBox(key: tables.derivedKey(BackendMount.payloadKey))
        note(try await BackendStore.copy(accounts, key: key, sealedWith: hubBox, into: tables), of: accounts)
        note(try await PageStore.copy(pages, into: tables), of: pages)
    }

    private func note(_ outcome: TableImport.Outcome, of path: String) {
        switch outcome {
        case .nothing: break
        case .copied(let rows):
            logger.notice(
                "copied a file into the tables that all hubs of the log have; it stays, renamed",
                metadata: ["file.path": "\(path)\(TableImport.suffix)", "rows.copied": "\(rows)"]
            )
        case .differs:
            logger.warning(
                "a file is not used: the hubs of the log have accounts or sessions of their own; move it away",
                metadata: ["file.path": "\(path)"]
            )
        }
    }

    /// Lets commands of this machine make changes that only a hub with a log can make.
    private func localChanges(of service: HubService) throws -> MountedApplication? {
        guard service.sharesLog else { return nil }
        let key = PushChannelSecret.random()
        try PrivateFile.write("\(key.text)\n", to: state.file(HubFiles.localKey))
        return service.localChanges(key: key)
    }

    // MARK: - App backend and pages

    /// Locks the app backend's files for this hub.
    ///
    /// - Returns: `nil` if another process uses the files, which is logged.
    private func lockBackend() throws -> FileLock? {
        if let lock = try FileLock.acquire(state.file(HubFiles.backendLock)) { return lock }
        logger.warning(
            "the hub starts without the app backend: 'newswire backend' is using the state directory",
            metadata: ["state.path": "\(state.path)"]
        )
        return nil
    }

    /// Creates the app backend of the server's primary hub.
    ///
    /// Its limits and proxies are the hub's; the texts of secure pushes, the roles and the identity providers come from
    /// the section `backend`.
    private func mountBackend(on service: HubService) throws -> BackendMount {
        var backend = BackendConfiguration(settings)
        let identity = IdentitySettings(settings)
        if let problem = identity.problems().first { throw Failure(.badConfiguration, problem) }
        identity.apply(to: &backend, http: http)
        backend.trustedProxies = TrustedProxies(configuration.trustedProxies)
        backend.reservedTags = configuration.reservedTags
        backend.maximumTags = configuration.maximumTags
        let storage: BackendMount.Storage =
            service.usesTables
            ? .tables(service.tables, key: service.derivedKey(BackendMount.payloadKey))
            : .files(database: state.file(HubFiles.backend), key: state.file(HubFiles.backendKey))
        return BackendMount(storage, on: service, configuration: backend, logger: logger)
    }

    /// - Returns: `nil` if the hub's pages are disabled.
    private func mountPages(
        on service: HubService,
        _ configuration: HubConfiguration,
        backend: BackendMount?
    ) throws -> PageServer? {
        guard configuration.pages != .off else { return nil }
        for (hub, appearance) in plan.appearances where appearance.approvesUrgent {
            guard backend == nil || hub != service.primaryHubName else { continue }
            logger.warning(
                "nobody can approve urgent messages at this hub's desk: only the first hub's pages have accounts",
                metadata: ["hub.name": "\(hub)"]
            )
        }
        let store =
            service.usesTables ? PageStore(in: service.tables) : try PageStore(path: state.file(HubFiles.pages))
        return try PageServer(
            store: store,
            on: service,
            configuration,
            appearances: plan.appearances,
            images: (http, .publicOnly),
            backend: backend,
            logger: logger
        )
    }
}
