import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import HubServer
import Logging

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
    @Option(
        help: ArgumentHelp(
            "The state directory. Without it: $STATE_DIRECTORY, then ~/.local/state/newswire/hub.",
            valueName: "path"
        )
    )
    var state: String?
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

    @Option(help: "The address to listen on.")
    var listen = "127.0.0.1"

    @Option(help: "The port; 0 takes any free one.")
    var port = 8787

    @Option(help: "The name of the hub that the first start makes.")
    var hub = "news"

    @Flag(help: "Listen on an address that other machines reach, although there is no TLS.")
    var insecureListen = false

    @Option(help: "The least level that is logged.")
    var logLevel = LogLevel.notice

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be 0 to 65535, not \(port)") }
    }

    func run() async throws {
        try await reportingFailures {
            guard insecureListen || ["127.0.0.1", "::1", "localhost"].contains(listen) else {
                throw Failure(
                    .badConfiguration,
                    "'\(listen)' is reached by other machines, and keys and news would travel unencrypted",
                    hint: "put a TLS proxy in front and listen on 127.0.0.1, or pass --insecure-listen"
                )
            }
            let state = try HubFiles.directory(stateOptions.state)
            guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
                throw Failure(.tryLater, "another hub is using '\(state.path)'", hint: "stop it, or pass --state PATH")
            }
            defer { lock.close() }
            try await serve(state)
        }
    }

    private func serve(_ state: StateDirectory) async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        var logger = Logger(label: "newswire.hub")
        logger.logLevel = logLevel.level
        let name: HubName
        do {
            name = try HubName(hub)
        } catch {
            throw Failure(.badConfiguration, "the hub's name '\(hub)' cannot be used: \(error)")
        }
        var configuration = HubConfiguration(databasePath: state.file(HubFiles.database), hubName: name)
        configuration.host = listen
        configuration.port = port
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
                    try announce(service, state, port: boundPort)
                } catch {
                    log.error("the connection strings cannot be written", metadata: ["error": "\(error)"])
                }
                log.notice(
                    "the hub is ready",
                    metadata: ["address": "\(listen):\(boundPort)", "connections": "\(state.path)"]
                )
                notifier?.ready()
            }
        } catch let error as HubListenError {
            throw Failure(.tryLater, "cannot listen on \(listen):\(port): \(error.reason)", hint: "pass another --port")
        }
        notifier?.stopping()
    }

    /// Leaves the connection strings in the state directory, and shows them to a person at a terminal.
    private func announce(_ service: HubService, _ state: StateDirectory, port: Int) throws {
        let host = listen.contains(":") ? "[\(listen)]" : listen
        try ConnectionFiles.write(
            try service.connectionStrings(endpoint: "http://\(host):\(port)/"),
            to: state,
            showing: Console.isInteractive
        )
    }
}

/// `--log-level`.
enum LogLevel: String, ExpressibleByArgument, CaseIterable {
    case trace, debug, info, notice, warning, error

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
            let state = try HubFiles.directory(stateOptions.state)
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
