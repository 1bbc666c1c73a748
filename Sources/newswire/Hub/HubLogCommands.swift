import ArgumentParser
import Formats
import Foundation
import HostSystem
import HubClient
import HubProtocol
import HubServer
import HubStore
import Logging
import ReplicatedLog
import SQLiteFiles
import Settings
import StartupChecks
import WebPages

struct HubLogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Set up, show or repair the log that several hubs share.",
        subcommands: [
            HubLogInitCommand.self, HubLogStatusCommand.self, HubLogReseedCommand.self, HubLogLeaveCommand.self,
        ]
    )
}

struct HubLogStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the position of each hub in the shared log.",
        discussion: """
            --offline reads the database of a stopped hub, to find the one that is furthest ahead.

            EXAMPLES
              newswire hub log status
              newswire hub log status --json | jq .peers
              newswire hub log status --offline --state /var/lib/newswire-hub
            """
    )

    @OptionGroup var options: HubRequestOptions

    @Flag(help: "Read the database of a stopped hub.")
    var offline = false

    @OptionGroup var flags: SettingFlags<HubStateFlags>

    func run() async throws {
        if offline { return try showFile() }
        let overview = try await options.ask { hub in try await hub.overview() }
        guard let node = overview.node else {
            throw Failure(.failed, "the hub shares no log with others")
        }
        try Console.show(node, asJSON: options.json, .facts(ReportWords.terminal.facts(node)))
    }

    private func showFile() throws {
        let settings = try options.configuration.load().overridden(by: flags.values)
        let directory = try HubState.existing(settings)
        let database = directory.file(HubFiles.database)
        guard HostFile.exists(database) else { throw HubState.noHub(in: directory, settings) }
        let position = try DatabaseFileError.naming(database) { try LogMembership.position(of: database) }
        guard let position else { throw Failure(.failed, "'\(database)' follows no log") }
        let text = "'\(database)' contains the log up to entry \(position)"
        Console.show(["position": JSONText(position)], asJSON: options.json, .row(text))
    }
}

/// The locked files of a stopped hub.
private struct IdleHub {
    let state: StateDirectory
    let database: String
    private let lock: FileLock

    /// - Throws: ``Failure`` 75 if the hub is running.
    init(_ settings: Settings) throws {
        state = try HubState.existing(settings)
        database = state.file(HubFiles.database)
        guard HostFile.exists(database) else {
            throw HubState.noHub(in: state, settings)
        }
        guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
            throw Failure(.tryLater, "a hub is using '\(state.path)'", hint: "stop it first")
        }
        self.lock = lock
    }

    func close() { lock.close() }
}

struct HubLogLeaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Detach a hub's database from the shared log.",
        discussion: """
            This moves a hub from several machines back to one. Stop the hubs on all machines first, run this on one \
            of them, and remove the log settings from its configuration. It brings the database to the log's end, and \
            closes the log on its servers: other hubs that still follow it stop, and do not start again.

            --offline changes the database only, if the log's servers are gone for good: run it on the hub that is \
            furthest ahead.

            EXAMPLES
              newswire hub log leave
              newswire hub log leave --offline
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    @Flag(help: "Do not close the log on its servers, which are gone for good.")
    var offline = false

    func run() async throws {
        let settings = try configuration.load()
        let hub = try IdleHub(settings)
        defer { hub.close() }
        try await DatabaseFileError.naming(hub.database) {
            guard try LogMembership.position(of: hub.database) != nil else {
                throw Failure(.failed, "'\(hub.database)' follows no log")
            }
            if !offline { try await close(settings, hub) }
            try LogMembership.end(hub.database)
            // Nobody would remove it: only a hub with a log hands out invitations.
            try NodeInvitation.remove(in: hub.state.path)
        }
        Console.notice("'\(hub.database)' no longer follows a log; remove the log settings from the configuration")
    }
}

extension HubLogLeaveCommand {
    /// Attempts to reach the log's end before other hubs write more.
    private static let attempts = 10

    /// Brings the database to the log's end, and closes the log on its servers.
    private func close(_ settings: Settings, _ hub: IdleHub) async throws {
        let hint = "pass --offline if the log's servers are gone for good"
        guard let configuration = LogSettings(settings).configuration else {
            throw Failure(.badConfiguration, "no log is configured", hint: "set 'log-servers' again, or \(hint)")
        }
        let log: ReplicatedLog
        do {
            log = try await ReplicatedLog.connect(configuration, logger: Logger(label: "newswire.hub"))
        } catch ReplicatedLogError.closedLog(_, configuration.node) {
            // An earlier attempt was interrupted.
            return
        } catch let error as ReplicatedLogError {
            let failure = Failure(error)
            throw Failure(failure.status, failure.text, hint: error.isTemporary ? hint : nil)
        }
        try await closing({ await log.close() }) { try await Self.close(log, hub) }
    }

    private static func close(_ log: ReplicatedLog, _ hub: IdleHub) async throws {
        for attempt in 1...attempts {
            let position = try await HubLogFile.follow(hub.database, log.log)
            do {
                return try await log.end(at: position)
            } catch ReplicatedLogError.ahead where attempt < attempts {
                // Another hub still writes; what it wrote is followed, too.
            }
        }
    }
}

struct HubLogReseedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseed",
        abstract: "Start a new log from this hub's database.",
        discussion: """
            For a log that is lost, truncated or forked. Stop the hubs on all machines, find the database that is \
            furthest ahead with 'newswire hub log status --offline', and run this there: it deletes the log and starts \
            a new one from that database. Agents get a gap, since other hubs may have accepted more messages. Then \
            copy this database to the other machines: 'newswire hub backup' here, 'newswire hub restore' there.

            EXAMPLES
              newswire hub log reseed --yes
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    @Flag(help: "Delete the existing log.")
    var yes = false

    func run() async throws {
        let settings = try configuration.load()
        guard let log = LogSettings(settings).configuration else {
            throw Failure(.badConfiguration, "no log is configured", hint: "set 'log-servers' in the section 'hub'")
        }
        guard yes else {
            throw Failure(
                .usage,
                "this deletes the log '\(log.name)' on its servers",
                hint: "pass --yes once the hubs on all machines have stopped"
            )
        }
        let hub = try IdleHub(settings)
        defer { hub.close() }
        let incarnation = try await ReplicatedLog.beginAgain(log, logger: Logger(label: "newswire.hub"))
        try DatabaseFileError.naming(hub.database) {
            try LogMembership.begin(hub.database, incarnation: incarnation, at: Timestamp(Date()))
        }
        Console.notice("the log '\(log.name)' starts from '\(hub.database)'; agents get a gap")
        Console.notice("copy it to the other machines: 'newswire hub backup' here, 'newswire hub restore' there")
    }
}
