import ArgumentParser
import Foundation
import HostSystem
import HubClient
import HubProtocol
import WebPages

struct HubAlarmsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "alarms",
        abstract: "Show a hub's alarms, or silence one.",
        subcommands: [HubAlarmsListCommand.self, HubAlarmsSilenceCommand.self, HubAlarmsUnsilenceCommand.self],
        defaultSubcommand: HubAlarmsListCommand.self
    )
}

struct HubAlarmsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List active and silenced alarms, with their ids.",
        discussion: """
            EXAMPLES
              newswire hub alarms
              newswire hub alarms --json | jq '.alarms[] | select(.isSilenced | not) | .title'
            """
    )

    @OptionGroup var options: HubRequestOptions

    func run() async throws {
        let list = try await options.ask { hub in try await hub.alarms() }
        if options.json { return Console.print(try JSON.line(list)) }
        if list.alarms.isEmpty { Console.notice("there are no alarms") }
        Console.show(.rows(list.alarms.map(Self.row)))
        if let omitted = list.omitted {
            Console.notice("\(Counted.text(omitted, "more alarm is", "more alarms are")) not shown")
        }
    }

    private static func row(_ alarm: AlarmReport) -> [String?] {
        let since = alarm.since.map { "since \($0)" } ?? "ended"
        return [alarm.id, alarm.title, since, ReportWords.terminal.silence(alarm)]
    }
}

struct HubAlarmsSilenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "silence",
        abstract: "Silence an alarm until a time, or until it ends.",
        discussion: """
            An alarm that is still active when its silence ends is sent again.

            EXAMPLES
              newswire hub alarms silence 3f2a90c1d4e5
              newswire hub alarms silence 3f2a90c1d4e5 --for 12h
              newswire hub alarms silence 3f2a90c1d4e5 --until 2030-01-02T06:00:00Z
            """
    )

    @Argument(help: "The id, as 'newswire hub alarms' shows it.")
    var id: String

    @Option(help: "The end of the silence, in UTC or with a zone.")
    var until: String?

    @Option(
        name: .customLong("for"),
        help: "The length of the silence, such as 30m, 12h or 7d.",
        transform: TimeArgument.reader("30m, 12h or 7d")
    )
    var length: Duration?

    @OptionGroup var options: HubRequestOptions

    func run() async throws {
        let end = try end(now: Date())
        let id = id
        try await options.ask { hub in try await hub.silence(alarm: id, until: end) }
        Console.notice("silenced until \(end.map(ISODateTime.formatSeconds) ?? "it ends")")
    }

    private func end(now: Date) throws -> Date? {
        guard until == nil || length == nil else {
            throw Failure(.usage, "--until and --for cannot be combined")
        }
        if let length { return now + Double(length.components.seconds) }
        guard let until else { return nil }
        guard let date = ISODateTime.parse(until), date > now else {
            throw Failure(.usage, "--until '\(until)' is not in the future", hint: "pass 2030-01-02T06:00:00Z")
        }
        return date
    }
}

struct HubAlarmsUnsilenceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unsilence",
        abstract: "End the silence of an alarm; if it is still active, it is sent again.",
        discussion: """
            EXAMPLES
              newswire hub alarms unsilence 3f2a90c1d4e5
            """
    )

    @Argument(help: "The id, as 'newswire hub alarms' shows it.")
    var id: String

    @OptionGroup var options: HubRequestOptions

    func run() async throws {
        let id = id
        try await options.ask { hub in try await hub.endSilence(alarm: id) }
    }
}
