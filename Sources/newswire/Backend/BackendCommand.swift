import AppBackend
import ArgumentParser
import Foundation
import HostSystem
import HubClient
import HubServer
import Logging
import NetworkAddresses
import OutboundHTTP
import SQLiteFiles
import Settings
import StartupChecks

struct BackendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backend",
        abstract: "Serve the app backend in front of a hub.",
        discussion: """
            Signed-in users register their devices, are notified by name and fetch secure notifications. 'newswire \
            user' manages who can sign in; accounts and devices are kept in the hub's state directory. The backend \
            calls the hub, newswire's or another, with the connection string in --connection-file, which must grant \
            Manage. Without one, it uses your hub on this machine, else that of 'newswire hub --emulate'.

            One port speaks HTTPS and, for programs on this machine, plain HTTP.

            EXAMPLES
              newswire backend
              newswire backend --listen 0.0.0.0 --host-names push.example.org
              newswire backend --connection-file azure.connection --hub my-hub --state /var/lib/newswire-backend
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<BackendFlags>

    /// Maximum number of simultaneous calls to the hub over HTTP/1.1; the hub commits simultaneous changes together.
    private static let connectionsToHub = 64

    func run() async throws {
        let settings = try configuration.load()
        let identity = IdentitySettings(settings)
        if let problem = identity.problems().first { throw Failure(.badConfiguration, problem) }
        let state = try HubState.directory(settings)
        guard let lock = try FileLock.acquire(state.file(HubFiles.backendLock)) else {
            throw Failure(
                .tryLater,
                "another app backend, or a hub that serves one itself, is using '\(state.path)'",
                hint: "stop it, start the hub with --no-app-backend, or pass another --state"
            )
        }
        defer { lock.close() }
        state.removeLeftovers()
        let connection = try HubConnection(settings, BackendSettings.connection)
        guard let (string, isEmulated) = try connection.ofBackend() else { throw connection.missing }
        if isEmulated { Console.notice("the hub is that of 'newswire hub --emulate'") }
        let listening = try listenConfiguration(settings, state)
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        // Closing the terminal must end a backend that was started there; a service ignores hang-ups.
        if !Console.isInteractive { TerminationSignals.ignoreHangUps() }
        let logger = logger(settings)
        try await DatabaseFileError.naming(state.file(HubFiles.backend)) {
            try await withHTTP(connectionsPerHost: Self.connectionsToHub) { http in
                let server = try ResponderService(listening, logger: logger)
                var configuration = backendConfiguration(settings)
                configuration.onSignedIn = { server.prove($0) }
                let metrics = ServerMetrics(version: Program.version, startedAt: Date().timeIntervalSince1970)
                configuration.serverMetrics = { metrics.text }
                identity.apply(to: &configuration, http: http)
                let key = state.file(HubFiles.backendKey)
                let backend = AppBackend(
                    store: try BackendStore(path: state.file(HubFiles.backend), signs: [key]),
                    secrets: try PayloadBox(keyFile: key),
                    hub: try connection.client(string, http: http),
                    configuration: configuration,
                    logger: logger
                )
                try await serve(backend, server, listening, state, logger)
            }
        }
    }

    func backendConfiguration(_ settings: Settings) -> BackendConfiguration { BackendConfiguration(settings) }

    func logger(_ settings: Settings) -> Logger {
        var logger = Logger(label: "newswire.backend")
        logger.logLevel = settings.value(BackendSettings.logLevel).level
        return logger
    }

    func listenConfiguration(_ settings: Settings, _ state: StateDirectory) throws -> ListenConfiguration {
        let listen = settings.value(BackendSettings.listen)
        let endpoint = try HubEndpoint(
            hostNames: settings.value(BackendSettings.hostNames),
            publicAddress: settings.value(BackendSettings.publicAddress),
            certificate: settings.value(BackendSettings.tlsCertificate),
            key: settings.value(BackendSettings.tlsKey),
            listen: listen,
            state: state,
            serverName: HubFiles.backendCertificate
        )
        return ListenConfiguration(
            host: listen,
            port: settings.value(BackendSettings.port),
            certificate: endpoint.certificate,
            takesPlainHTTP: settings.value(BackendSettings.insecureListen),
            publicAddress: endpoint.publicAddress,
            trustedProxies: settings.value(BackendSettings.trustedProxies) ?? [],
            drain: settings.value(BackendSettings.drain)
        )
    }

    private func serve(
        _ backend: AppBackend,
        _ server: ResponderService,
        _ listening: ListenConfiguration,
        _ state: StateDirectory,
        _ logger: Logger
    ) async throws {
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        let work = {
            try await server.run(backend.responder(), with: backend.services, stopsOnSignals: true) { port in
                logger.notice(
                    "the app backend is ready",
                    metadata: ["listen.address": "\(listening.host):\(port)", "state.path": "\(state.path)"]
                )
                if Console.isInteractive {
                    Console.notice("apps reach it at https://\(listening.publicAddress.authority(port: port))/api/")
                }
                notifier?.ready()
            }
        }
        do {
            if let notifier {
                try await notifier.feedingWatchdog(probe: { try await backend.probe() }, during: work)
            } else {
                try await work()
            }
        } catch let error as HubListenError {
            throw Failure(error, listen: listening.host, port: listening.port)
        }
        notifier?.stopping()
    }
}
