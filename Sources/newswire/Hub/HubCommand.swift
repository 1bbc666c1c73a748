import ArgumentParser
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
import PushEmulator
import ReplicatedLog
import SQLiteFiles
import Settings

struct HubCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub",
        abstract: "Serve notification hubs, or manage them, their keys and their database.",
        subcommands: [
            HubServe.self, HubKeysCommand.self, HubCertificateCommand.self, HubListCommand.self, HubCreateCommand.self,
            HubDeleteCommand.self, HubCredentialsCommand.self, HubInviteCommand.self, HubOverviewCommand.self,
            HubAlarmsCommand.self, HubCategoriesCommand.self,
            HubAuditCommand.self, HubBackupCommand.self, HubRestoreCommand.self, HubLogCommand.self,
        ],
        defaultSubcommand: HubServe.self
    )
}

enum HubFlags: SettingFlagList {
    /// Other commands of the hub have the flag of its state directory, too.
    static let settings = SettingsTable.entries(.hub).filter { $0.id != HubSettings.state.entry.id }
}

struct HubServe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the notification hub.",
        discussion: """
            The first start creates the database, the hub, its two rules, and an authority that signs its TLS \
            certificate. Connection strings are written to the state directory, readable only by you, and shown when \
            you start the hub on a terminal. Each start creates or updates the hubs, rules and keys in the \
            configuration.

            One port serves HTTPS and, for programs on this machine, plain HTTP. 'newswire hub certificate' shows how \
            to make clients trust the certificate.

            The app backend, for users who sign in, is served below /api/ on the same port: see 'newswire user'. \
            --no-app-backend disables it.

            EXAMPLES
              newswire hub
              newswire hub --port 9000 --state /var/lib/newswire-hub
              newswire hub --listen 0.0.0.0 --host-names hub.example.org
              newswire hub --emulate

            If the database is missing, empty or damaged, the hub does not start: restore a copy with 'newswire hub \
            restore', or begin anew with --new. Every client then needs new connection strings.
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @OptionGroup var flags: SettingFlags<HubFlags>

    @Flag(
        name: .customLong("new"),
        help: "Begin a new hub, with new keys, where the database is lost or damaged; refused if it can be used."
    )
    var beginsAnew = false

    @Option(
        help: ArgumentHelp(
            "The address that replaces all push services, for tests: an https address on this machine.",
            visibility: .private
        )
    )
    var pushOrigin: String?

    @Option(help: ArgumentHelp("The file of trusted authorities for that address, in PEM.", visibility: .private))
    var pushAuthorities: String?

    @Flag(
        help: ArgumentHelp(
            "Emulate Apple's, Google's, Microsoft's and browsers' push services on this machine.",
            discussion: """
                To try an app without accounts at these services. The hub has a state directory of its own, serves \
                this machine only, and listens on a free port if that of your hub is in use; 'newswire messages inbox' shows what a device would have received.
                """
        )
    )
    var emulate = false

    func run() async throws {
        let settings = try stateOptions.configuration.load().overridden(by: flags.values)
        let state =
            emulate
            ? try StateDirectory.locate(
                role: HubFiles.emulatorRole,
                override: stateOptions.state,
                environment: ProcessInfo.processInfo.environment
            ) : try stateOptions.directory(settings)
        guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
            throw Failure(.tryLater, "another hub is using '\(state.path)'", hint: "stop it, or pass another --state")
        }
        defer { lock.close() }
        state.removeLeftovers()
        let database = state.file(HubFiles.database)
        if beginsAnew {
            guard try HubDatabase.isGone(database) else {
                throw Failure(
                    .badConfiguration,
                    "cannot begin a new hub in '\(state.path)': the database of its hub can be used",
                    hint: "omit --new; to give up that hub, stop it and move 'hub.sqlite' away first"
                )
            }
            FormerDatabases(of: database).say(try HubDatabase.clear(database))
        }
        try HubDatabase.refuseLoss(of: database)
        let plan = try plan(settings, state)
        var configuration = plan.configuration
        let emulated = try await emulate ? emulatePush(&configuration, state, settings, plan.logger) : nil
        try await DatabaseFileError.naming(configuration.databasePath) {
            try await withHTTP { try await serve(configuration, plan, state, settings, $0) }
        }
        await emulated?.emulator.stop()
    }

    private func serve(
        _ configuration: HubConfiguration,
        _ plan: HubPlan,
        _ state: StateDirectory,
        _ settings: Settings,
        _ http: OutboundClient
    ) async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        // Closing the terminal must end a hub that was started there; a service ignores hang-ups.
        if !Console.isInteractive { TerminationSignals.ignoreHangUps() }
        let replicated: ReplicatedLog? =
            if let shared = plan.log { try await ReplicatedLog.connect(shared, logger: plan.logger) } else { nil }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(
                try await serve(configuration, replicated, plan, state, settings, http)
            )
        } catch {
            outcome = .failure(error)
        }
        await replicated?.close()
        try outcome.get()
    }

    private func serve(
        _ configuration: HubConfiguration,
        _ replicated: ReplicatedLog?,
        _ plan: HubPlan,
        _ state: StateDirectory,
        _ settings: Settings,
        _ http: OutboundClient
    ) async throws {
        let (listen, endpoint, logger) = (configuration.host, plan.endpoint, plan.logger)
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        var configuration = configuration
        configuration.onWaiting = { notifier?.waiting($0) }
        let service: HubService =
            if let replicated {
                try await HubService(configuration, log: replicated.log, channel: replicated.channel, logger: logger)
            } else {
                try await HubService(configuration, logger: logger)
            }
        let backendLock = plan.servesAppBackend ? try backendLock(state, logger) : nil
        defer { backendLock?.close() }
        let backend = try backendLock.map { _ in try mount(on: service, configuration, state, settings, http, logger) }
        let pages = try pageServer(on: service, configuration, state, backend: backend, logger)
        let log = logger
        let isBehindProxy = endpoint.publicAddress.isOfProxy(trusted: configuration.trustedProxies, listen: listen)
        do {
            let watchdog = notifier.flatMap { notifier in
                notifier.watchdogInterval.map { interval in
                    HubWatchdog(interval: interval) { notifier.watchdog() }
                }
            }
            let say = { @Sendable (port: Int, isFirst: Bool) in
                do {
                    try announce(
                        service,
                        endpoint,
                        state,
                        listen: listen,
                        port: port,
                        isBehindProxy: isBehindProxy,
                        pages: pages,
                        isFirst: isFirst
                    )
                } catch {
                    log.error("cannot write the connection strings", metadata: ["error.reason": "\(error)"])
                }
            }
            try await service.run(
                mounting: [backend?.application, pages?.application].compactMap(\.self),
                stopsOnSignals: true,
                watchdog: watchdog
            ) { boundPort in
                say(boundPort, true)
                log.notice(
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
    private func announce(
        _ service: HubService,
        _ endpoint: HubEndpoint,
        _ state: StateDirectory,
        listen: String,
        port: Int,
        isBehindProxy: Bool,
        pages: PageServer?,
        isFirst: Bool
    ) throws {
        let local = HubEndpoint.localEndpoint(listen: listen, port: port)
        try HubFiles.write(
            hub: try service.connectionStrings(endpoint: local),
            namespace: try service.namespaceConnectionStrings(endpoint: local),
            to: state
        )
        let shown = endpoint.connectionEndpoint(port: port)
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
        if emulate {
            let file = state.file(HubFiles.Connection.full.rawValue)
            return Console.notice("your programs on this machine find the hub with NEWSWIRE_CONNECTION_FILE=\(file)")
        }
        // The clients of a proxy meet its certificate.
        guard case .local = endpoint.certificate, !isBehindProxy else { return }
        Console.notice("clients on other machines must trust the hub's certificate: see 'newswire hub certificate'")
    }
}

extension LogLevel {
    var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .notice }
}
