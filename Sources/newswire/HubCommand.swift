import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import HubServer
import Logging
import Settings

struct HubCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub",
        abstract: "Serve the notification hub, or manage its keys and its database.",
        subcommands: [HubServe.self, HubKeysCommand.self, HubBackupCommand.self, HubRestoreCommand.self],
        defaultSubcommand: HubServe.self
    )
}

/// Where a hub keeps its state.
struct HubStateOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(HubSettings.state)
    var state: String?

    /// The directory that flag, environment, file or default name; made if need be.
    func directory(_ settings: Settings) throws -> StateDirectory {
        try StateDirectory.locate(
            role: "hub",
            override: settings.value(HubSettings.state, flag: state),
            environment: ProcessInfo.processInfo.environment
        )
    }
}

struct HubServe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the notification hub.",
        discussion: """
            The first start makes the database, the hub and its two rules. Connection strings are written to the \
            state directory, readable by you alone, and shown when you start the hub at a terminal.

            EXAMPLES
              newswire hub
              newswire hub --port 9000 --state /var/lib/newswire-hub
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Option(HubSettings.listen)
    var listen: String?

    @Option(HubSettings.port)
    var port: Int?

    @Option(HubSettings.name, "hub")
    var name: String?

    @Flag(HubSettings.insecureListen)
    var insecureListen: Bool?

    @Option(HubSettings.timeToLive)
    var timeToLive: Duration?

    @Option(HubSettings.logSize)
    var logSize: Int64?

    @Option(HubSettings.reservedTagPrefixes)
    var reservedTagPrefixes: ReservedTagPrefixes?

    @Option(HubSettings.drain)
    var drain: Duration?

    @Option(HubSettings.logLevel)
    var logLevel: LogLevel?

    func run() async throws {
        try await reportingFailures {
            let settings = try stateOptions.configuration.load()
            let listen = settings.value(HubSettings.listen, flag: listen)
            let isInsecure = settings.value(HubSettings.insecureListen, flag: insecureListen)
            guard isInsecure || Self.isLoopback(listen) else {
                throw Failure(
                    .badConfiguration,
                    "'\(listen)' is reached by other machines, and keys and news would travel unencrypted",
                    hint: "put a TLS proxy in front and listen on 127.0.0.1, or pass --insecure-listen"
                )
            }
            let state = try stateOptions.directory(settings)
            guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
                throw Failure(.tryLater, "another hub is using '\(state.path)'", hint: "stop it, or pass --state PATH")
            }
            defer { lock.close() }
            try await serve(try hubConfiguration(settings, state), state, settings)
        }
    }

    static func isLoopback(_ address: String) -> Bool { ["127.0.0.1", "::1", "localhost"].contains(address) }

    private func hubConfiguration(_ settings: Settings, _ state: StateDirectory) throws -> HubConfiguration {
        let hub = settings.value(HubSettings.name, flag: name)
        let name: HubName
        do {
            name = try HubName(hub)
        } catch {
            throw Failure(.badConfiguration, "the hub's name '\(hub)' cannot be used: \(error)")
        }
        var configuration = HubConfiguration(databasePath: state.file(HubFiles.database), hubName: name)
        configuration.version = Program.version
        configuration.host = settings.value(HubSettings.listen, flag: listen)
        configuration.port = settings.value(HubSettings.port, flag: port)
        configuration.timeToLive = settings.value(HubSettings.timeToLive, flag: timeToLive)
        configuration.maximumLogBytes = settings.value(HubSettings.logSize, flag: logSize)
        configuration.reservedTags = settings.value(HubSettings.reservedTagPrefixes, flag: reservedTagPrefixes)
        configuration.drain = settings.value(HubSettings.drain, flag: drain)
        return configuration
    }

    private func serve(
        _ configuration: HubConfiguration,
        _ state: StateDirectory,
        _ settings: Settings
    ) async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        var logger = Logger(label: "newswire.hub")
        logger.logLevel = settings.value(HubSettings.logLevel, flag: logLevel).level
        let listen = configuration.host
        let service = try await HubService(configuration, logger: logger)
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        let log = logger
        do {
            let watchdog = notifier.flatMap { notifier in
                notifier.watchdogInterval.map { interval in
                    HubWatchdog(interval: interval) { notifier.watchdog() }
                }
            }
            try await service.run(stopsOnSignals: true, watchdog: watchdog) { boundPort in
                do {
                    try announce(service, state, listen: listen, port: boundPort)
                } catch {
                    log.error("the connection strings cannot be written", metadata: ["error.reason": "\(error)"])
                }
                log.notice(
                    "the hub is ready",
                    metadata: ["listen.address": "\(listen):\(boundPort)", "state.path": "\(state.path)"]
                )
                notifier?.ready()
            } onStopping: {
                notifier?.stopping()
            }
        } catch let error as HubListenError {
            throw Failure(
                .tryLater,
                "cannot listen on \(listen):\(configuration.port): \(error.reason)",
                hint: "pass another --port"
            )
        }
    }

    /// Leaves the connection strings in the state directory, and shows them to a person at a terminal.
    private func announce(_ service: HubService, _ state: StateDirectory, listen: String, port: Int) throws {
        let host = listen.contains(":") ? "[\(listen)]" : listen
        try ConnectionFiles.write(
            try service.connectionStrings(endpoint: "http://\(host):\(port)/"),
            to: state,
            showing: Console.isInteractive
        )
    }
}

extension LogLevel {
    var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .notice }
}

struct HubKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Show the connection strings, or rotate a rule's key.",
        discussion: """
            A rotated rule has a new primary key; the old one goes on as its secondary key, so that programs can \
            change over, and the former secondary key ends at once. Rotate twice to end both.

            EXAMPLES
              newswire hub keys
              newswire hub keys --rotate DefaultListenSharedAccessSignature
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Option(help: ArgumentHelp("Give this rule a new primary key.", valueName: "rule"))
    var rotate: String?

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        try await reportingFailures {
            let settings = try stateOptions.configuration.load()
            let state = try stateOptions.directory(settings)
            guard FileManager.default.fileExists(atPath: state.file(HubFiles.database)) else {
                throw Failure(.badConfiguration, "there is no hub in '\(state.path)'", hint: "start one: newswire hub")
            }
            let keys = try await HubKeys(databasePath: state.file(HubFiles.database))
            if let rotate {
                do {
                    _ = try await keys.rotate(rotate)
                } catch let error as HubKeysError {
                    throw Failure(.usage, "\(error)")
                }
                // When this command has ended the keys are what it says.
                try await Task.sleep(for: HubKeys.takeover)
            }
            let endpoint = try ConnectionFiles.endpoint(in: state)
            let rules = try await keys.rules()
            let strings = try rules.map { rule in
                try ConnectionString(endpoint: endpoint, keyName: rule.name, key: rule.primaryKey)
            }
            if rotate != nil { try ConnectionFiles.write(strings, to: state, showing: false) }
            try show(rules, strings)
        }
    }

    private struct ShownRule: Encodable {
        let name: String
        let rights: [String]
        let primaryConnectionString: String
        let secondaryKey: String
    }

    private func show(_ rules: [AccessRule], _ strings: [ConnectionString]) throws {
        let pairs = zip(rules, strings)
        guard json else {
            for (rule, string) in pairs { Console.print("\(rule.rights.names.joined(separator: "+")): \(string)") }
            return
        }
        let shown = pairs.map { rule, string in
            ShownRule(
                name: rule.name,
                rights: rule.rights.names,
                primaryConnectionString: "\(string)",
                secondaryKey: rule.secondaryKey
            )
        }
        Console.print(try JSON.line(shown))
    }
}

/// The connection strings that a hub leaves in its state directory for programs of the same user.
enum ConnectionFiles {
    static func write(_ strings: [ConnectionString], to state: StateDirectory, showing: Bool) throws {
        for string in strings {
            let file: HubFiles.Connection = string.keyName == AccessRule.defaultListenName ? .listen : .full
            let path = state.file(file.rawValue)
            try PrivateFile.write("\(string)\n", to: path)
            if showing {
                Console.notice("\(file == .listen ? "for agents" : "for publishers, keep it secret"): \(string)")
            }
        }
    }

    /// Where the hub listened when it last started.
    static func endpoint(in state: StateDirectory) throws -> String {
        let path = state.file(HubFiles.Connection.listen.rawValue)
        guard FileManager.default.fileExists(atPath: path) else { return "http://127.0.0.1:8787/" }
        let text = try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
        return try ConnectionString(parsing: text).endpoint
    }
}
