import ArgumentParser
import FeedPublisher
import Foundation
import HostSystem
import HubClient
import OutboundHTTP

struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Poll the feeds that are due and announce what is new.",
        discussion: """
            One pass, for cron or a systemd timer; a pass with nothing to say prints nothing. The first pass records \
            what the feeds hold and announces none of it.

            EXAMPLES
              newswire publish
              newswire publish --dry-run --force --announce-existing 3
              */5 * * * * newswire publish --feeds /etc/newswire/feeds
            """
    )

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("The directory of the feed lists, one YAML file a category.", valueName: "path"))
    var feeds = "feeds"

    @Option(
        help: ArgumentHelp(
            "The state directory. Without it: $STATE_DIRECTORY, then ~/.local/state/newswire/publisher.",
            valueName: "path"
        )
    )
    var state: String?

    @Option(
        help: ArgumentHelp("Announce so many entries of feeds that are read for the first time.", valueName: "N|all")
    )
    var announceExisting = ExistingEntries.none

    @Option(help: ArgumentHelp("Messages of one category in a pass; the rest become one digest.", valueName: "N|none"))
    var cap = CategoryCap.atMost(PublishOptions.standardCap)

    @Flag(help: "Poll feeds that are not due, too.")
    var force = false

    @Flag(help: "Show each message and whom it would reach; change nothing.")
    var dryRun = false

    @Option(help: "The name under which the categories are announced to the hub.")
    var publisher = "newswire"

    func run() async throws {
        try await reportingFailures {
            let lists = try loadLists()
            let directory = try StateDirectory.locate(
                role: "publisher",
                profile: nil,
                override: state,
                environment: ProcessInfo.processInfo.environment
            )
            let http = OutboundClient(userAgent: Program.userAgent)
            do {
                let report = try await dryRun ? preview(lists, directory, http) : publish(lists, directory, http)
                await http.shutdown()
                if report.exit != .done { throw ExitCode(report.exit.rawValue) }
            } catch {
                await http.shutdown()
                throw error
            }
        }
    }

    private func loadLists() throws -> FeedLists {
        do {
            return try FeedLists.load(directory: feeds)
        } catch {
            for problem in error.problems { Console.error("\(problem)") }
            throw ExitCode(ExitStatus.badConfiguration.rawValue)
        }
    }

    private var options: PublishOptions {
        var options = PublishOptions()
        options.announceExisting = announceExisting
        options.cap = cap.limit
        options.force = force
        options.publisher = publisher
        return options
    }

    private func publish(
        _ lists: FeedLists,
        _ directory: StateDirectory,
        _ http: OutboundClient
    ) async throws -> PublishReport {
        let lock: FileLock
        switch try PublisherLock.acquire(directory.file("publisher.lock"), isWatched: Console.isInteractive) {
        case .acquired(let acquired): lock = acquired
        case .busy(let exit, let line):
            if let line { Self.say(line) }
            throw ExitCode(exit.rawValue)
        }
        defer { lock.close() }
        let client = try connection.client(try connection.sendingConnection(), http: http)
        let pass: PublishPass
        do {
            pass = PublishPass(
                lists: lists,
                store: try PublisherStore(path: directory.file("publisher.sqlite")),
                http: http,
                hub: client,
                options: options,
                reporter: PublishReporter(line: Self.say),
                logger: Program.logger("newswire.publish")
            )
        }
        do {
            let report = try await untilStopped { try await pass.run() }
            if Console.isInteractive { Self.summarize(report) }
            return report
        } catch let error as PublisherStoreError {
            throw Failure(error.isTemporary ? .tryLater : .badConfiguration, "\(error)")
        }
    }

    private func preview(
        _ lists: FeedLists,
        _ directory: StateDirectory,
        _ http: OutboundClient
    ) async throws -> PublishReport {
        let named = try connection.namedConnection() ?? connection.localConnection(.full)
        let client = try named.map { try connection.client($0, http: http) }
        let pass = try PublishPass.dryRun(
            lists: lists,
            storePath: directory.file("publisher.sqlite"),
            http: http,
            hub: client,
            options: options,
            reporter: PublishReporter(line: Self.say, preview: Self.show),
            logger: Program.logger("newswire.publish")
        )
        return try await untilStopped { try await pass.run() }
    }

    @Sendable private static func say(_ line: PublishLine) {
        if line.isRepeat, !Console.isInteractive { return }
        switch line.level {
        case .error: Console.error(line.text)
        case .warning: Console.warning(line.text)
        case .hint: Console.hint(line.text)
        case .notice: Console.notice(line.text)
        }
    }

    @Sendable private static func show(_ message: MessagePreview) {
        let reach = message.recipients.map { "to \($0)" } ?? "to an unknown number"
        let title = TerminalText.safe(message.title)
        Console.print("\(message.tags): \(title) (\(message.body.count) bytes, \(reach))")
    }

    private static func summarize(_ report: PublishReport) {
        var parts = [
            "\(report.polled) feeds polled", "\(report.announced) new entries", "\(report.sent) messages sent",
        ]
        if report.recorded > 0 { parts.append("\(report.recorded) entries recorded without one") }
        if report.failedFeeds > 0 { parts.append("\(report.failedFeeds) feeds failed") }
        if report.pending > 0 { parts.append("\(report.pending) messages wait") }
        Console.notice(parts.joined(separator: ", "))
    }
}

/// `--cap`.
enum CategoryCap: ExpressibleByArgument {
    case none
    case atMost(Int)

    init?(argument: String) {
        if argument == "none" {
            self = .none
        } else if let number = Int(argument), number > 0 {
            self = .atMost(number)
        } else {
            return nil
        }
    }

    var limit: Int? {
        switch self {
        case .none: nil
        case .atMost(let number): number
        }
    }

    var defaultValueDescription: String { limit.map(String.init) ?? "none" }
}

extension ExistingEntries: ExpressibleByArgument {
    public init?(argument: String) {
        switch argument {
        case "all": self = .all
        case "none": self = .none
        default:
            guard let number = Int(argument), number >= 0 else { return nil }
            self = number == 0 ? .none : .newest(number)
        }
    }
}
