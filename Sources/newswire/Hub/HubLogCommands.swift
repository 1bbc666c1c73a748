import ArgumentParser
import Foundation
import HostSystem
import HubClient
import HubProtocol
import HubServer
import Logging
import ReplicatedLog
import Settings
import StartupChecks

struct HubLogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Look after the log that several hubs share.",
        subcommands: [HubLogStatusCommand.self, HubLogReseedCommand.self, HubLogLeaveCommand.self]
    )
}

struct HubLogStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how far a hub and the others follow the shared log.",
        discussion: """
            With --offline it reads the database of a hub that does not run, to find the one that is furthest ahead.

            EXAMPLES
              newswire hub log status
              newswire hub log status --json | jq .peers
              newswire hub log status --offline --state /var/lib/newswire-hub
            """
    )

    @OptionGroup var inquiry: InquiryOptions

    @Flag(help: "Read the database of a hub that does not run.")
    var offline = false

    @Option(HubSettings.state)
    var state: String?

    private struct OfflineStatus: Encodable {
        let position: UInt64
    }

    func run() async throws {
        if offline { return try await showFile() }
        let overview = try await inquiry.ask { hub in try await hub.overview() }
        guard let node = overview.node else {
            throw Failure(.failed, "the hub shares no log with others")
        }
        if inquiry.json { return Console.print(try JSON.line(node)) }
        for line in Self.lines(node) { Console.print(TerminalText.safe(line)) }
    }

    private func showFile() async throws {
        let directory = try StateDirectory.locate(
            role: "hub",
            override: inquiry.configuration.load().value(HubSettings.state, flag: state),
            environment: ProcessInfo.processInfo.environment
        )
        let database = directory.file(HubFiles.database)
        let position = try await usingDatabase(database) { try HubLogFile.position(of: database) }
        guard let position else { throw Failure(.failed, "'\(database)' follows no log") }
        if inquiry.json { return Console.print(try JSON.line(OfflineStatus(position: position))) }
        Console.print("'\(database)' has the log up to entry \(position)")
    }

    private static func lines(_ node: HubOverview.Node) -> [String] {
        var lines = ["node            \(node.name), this one: entry \(node.position) of \(node.logEnd)"]
        for peer in node.peers {
            let lag = node.logEnd - min(peer.position, node.logEnd)
            let state =
                peer.seenSecondsAgo > HubOverview.Node.silence
                ? "not heard of for \(peer.seenSecondsAgo) s" : "\(lag) entries behind"
            lines.append("node            \(peer.name), newswire \(peer.version): entry \(peer.position), \(state)")
        }
        lines.append("last writer     \(node.writer ?? "unknown")")
        lines.append("log             \(node.cutOffSeconds.map { "has not answered for \($0) s" } ?? "answers")")
        return lines
    }
}

/// A hub's files, which this command alone uses until it ends.
private struct IdleHub {
    let state: StateDirectory
    let database: String
    private let lock: FileLock

    /// - Throws: ``Failure`` 75 while a hub runs.
    init(_ options: HubStateOptions, _ settings: Settings) throws {
        state = try options.directory(settings)
        database = state.file(HubFiles.database)
        guard HostFile.exists(database) else {
            throw Failure(.badConfiguration, "there is no hub in '\(state.path)'", hint: "start one: newswire hub")
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
        abstract: "Make a hub's database one of its own, which follows no log.",
        discussion: """
            This moves a hub from several machines back to one. Stop the hubs on all of them first, run this on the one \
            that is furthest ahead, and take hub.log out of its configuration. The others can follow it no more.

            EXAMPLES
              newswire hub log leave
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    func run() async throws {
        let hub = try IdleHub(stateOptions, stateOptions.configuration.load())
        defer { hub.close() }
        try await usingDatabase(hub.database) {
            guard try HubLogFile.position(of: hub.database) != nil else {
                throw Failure(.failed, "'\(hub.database)' follows no log")
            }
            try HubLogFile.leave(hub.database)
        }
        Console.notice("'\(hub.database)' follows no log any more; take hub.log out of the configuration")
    }
}

struct HubLogReseedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseed",
        abstract: "Begin a new log from this hub's database.",
        discussion: """
            For a log that is gone, cut off or forked. Stop the hubs on all machines, find the database that is furthest \
            ahead with 'newswire hub log status --offline', and run this there: the log is deleted and begun again with \
            what that database has. Agents get a gap, since other hubs may have accepted more. Then give the \
            other machines a copy of this database: 'newswire hub backup' here, 'newswire hub restore' there.

            EXAMPLES
              newswire hub log reseed --yes
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Flag(help: "Delete the log that is there.")
    var yes = false

    func run() async throws {
        let settings = try stateOptions.configuration.load()
        guard let log = LogSettings(settings).configuration else {
            throw Failure(.badConfiguration, "the configuration names no log", hint: "set 'log' in the section 'hub'")
        }
        guard yes else {
            throw Failure(
                .usage,
                "this deletes the log '\(log.name)' on its servers",
                hint: "pass --yes once the hubs on all machines have stopped"
            )
        }
        let hub = try IdleHub(stateOptions, settings)
        defer { hub.close() }
        let incarnation = try await ReplicatedLog.beginAgain(log, logger: Logger(label: "newswire.hub"))
        try await usingDatabase(hub.database) {
            try HubLogFile.begin(hub.database, incarnation: incarnation, at: Timestamp(Date()))
        }
        Console.notice("the log '\(log.name)' begins with '\(hub.database)'; agents get a gap")
        Console.notice("give the other machines a copy of it: 'newswire hub backup' here, 'newswire hub restore' there")
    }
}
