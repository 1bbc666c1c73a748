import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import HubServer
import HubStore
import Logging
import OutboundHTTP
import PushEmulator
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
            HubJoinCommand.self,
        ],
        defaultSubcommand: HubServe.self
    )
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

    @OptionGroup var configuration: ConfigurationOptions<HubFlags>

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
        let settings = try configuration.load()
        let state =
            emulate
            ? try StateDirectory.locate(
                role: HubFiles.emulatorRole,
                override: configuration.flags.value(HubSettings.state),
                environment: ProcessInfo.processInfo.environment
            ) : try HubState.directory(settings)
        guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
            throw Failure(.tryLater, "another hub is using '\(state.path)'", hint: "stop it, or pass another --state")
        }
        defer { lock.close() }
        state.removeLeftovers()
        let database = state.file(HubFiles.database)
        if beginsAnew {
            guard try HubStore.isGone(database) else {
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
        var hub = plan.configuration
        let emulated = try await emulate ? emulatePush(&hub, state, settings, plan.logger) : nil
        try await DatabaseFileError.naming(hub.databasePath) {
            try await withHTTP { http in
                let launch = HubLaunch(
                    configuration: hub,
                    plan: plan,
                    state: state,
                    settings: settings,
                    isEmulated: emulate,
                    http: http
                )
                try await launch.serve()
            }
        }
        await emulated?.emulator.stop()
    }
}

extension LogLevel {
    var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .notice }
}
