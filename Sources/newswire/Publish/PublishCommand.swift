import ArgumentParser
import FeedLists
import FeedPublisher
import HostSystem
import HubProtocol
import OutboundHTTP
import Settings

struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Poll the feeds that are due and announce new entries.",
        discussion: """
            Runs one pass, for cron or a systemd timer; a pass without news or errors prints nothing. The first pass \
            records the entries of the feeds and announces none of them.

            With --watch it runs until stopped: it polls each feed when it is due, reloads changed feed lists, and \
            sends messages at once. With --callback it also subscribes to the feeds' WebSub hubs, and a story arrives \
            seconds after it was published; feeds that a hub does not deliver are polled.

            EXAMPLES
              newswire publish
              newswire publish --watch --callback https://news.example.org/websub/
              newswire publish --dry-run --force --announce-existing 3
              */5 * * * * newswire publish --feeds /etc/newswire/feeds
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<PublishFlags>

    @Option(
        help: ArgumentHelp("Announce N entries of feeds that are read for the first time.", valueName: "N|all")
    )
    var announceExisting = ExistingEntries.none

    @Flag(help: "Run until stopped, and announce new entries at once.")
    var watch = false

    @Flag(help: "Also poll feeds that are not due.")
    var force = false

    @Flag(help: "Show the messages, their numbers of recipients, and why other entries are not sent; change nothing.")
    var dryRun = false

    @Flag(help: "With --dry-run, print JSON.")
    var json = false

    func validate() throws {
        if json, !dryRun { throw ValidationError("--json needs --dry-run") }
        if watch, dryRun || force { throw ValidationError("--watch cannot be combined with --dry-run or --force") }
        let needWatch = [PublisherSettings.callback.entry, PublisherSettings.listen.entry]
        if !watch, needWatch.contains(where: configuration.flags.has) {
            throw ValidationError("--callback and --listen need --watch")
        }
    }

    func run() async throws {
        let settings = try configuration.load()
        let feeds = try PublisherState.lists(settings)
        let report = try await withHTTP(
            userAgent: Program.userAgent(contact: settings.value(PublisherSettings.contact)),
            connectionsPerHost: PublishPass.concurrentLocalFeeds
        ) { http in
            try await dryRun ? preview(feeds, settings, http) : publish(feeds, settings, http)
        }
        if report.exit != .done { throw ExitCode(report.exit.rawValue) }
    }

    var environment: PublishEnvironment {
        var environment = PublishEnvironment()
        environment.program = Program.version
        return environment
    }

    func options(_ settings: Settings) -> PublishOptions {
        var options = PublishOptions()
        options.announceExisting = announceExisting
        options.cap = settings.value(PublisherSettings.cap).limit
        options.announceWithin = settings.value(PublisherSettings.announceWithin)
        options.force = force
        options.publisher = settings.value(PublisherSettings.publisher)
        let mayEdit = settings.value(PublisherSettings.listEdits)
        options.editableLists = mayEdit ? settings.value(PublisherSettings.feeds) : nil
        return options
    }

    private func publish(
        _ feeds: FeedLists,
        _ settings: Settings,
        _ http: OutboundClient
    ) async throws -> PublishReport {
        // Read before root takes on the rights of the publisher's user, who may not read the hub's files.
        let hub = try HubConnection(settings, PublisherSettings.connection)
        let client = try hub.client(try hub.sending(), http: http)
        let directory = try PublisherState.directory(settings)
        let lock: FileLock
        switch try PublisherLock.acquire(directory.file(PublisherFiles.lock), isWatched: watch || Console.isInteractive)
        {
        case .acquired(let acquired): lock = acquired
        case .busy(let exit, let line):
            if let line { Console.say(line) }
            throw ExitCode(exit.rawValue)
        }
        defer { lock.close() }
        let trappedFeed = TrapNote.take(from: lock)
        TrapNote.leave(in: lock)
        let store = try PublisherStore(path: directory.file(PublisherFiles.database))
        var options = options(settings)
        options.trappedFeed = trappedFeed
        let log = Program.logger("newswire.publish", settings.value(PublisherSettings.logLevel))
        let pass = PublishPass(
            lists: feeds,
            store: store,
            http: http,
            hub: client,
            options: options,
            environment: environment,
            reporter: PublishReporter(line: Console.say),
            logger: log
        )
        if watch {
            try await stay(pass, settings, store, log, lock)
            return PublishReport()
        }
        let report = try await untilStopped {
            await pass.handleRequests()
            let report = try await pass.run()
            await pass.reportHealth(after: report)
            return report
        }
        try leaveMetrics(feeds, store, report, settings)
        if Console.isInteractive { Self.summarize(report) }
        return report
    }

    func leaveMetrics(
        _ feeds: FeedLists,
        _ store: PublisherStore,
        _ report: PublishReport,
        _ settings: Settings
    ) throws {
        guard let path = settings.value(PublisherSettings.metricsFile) else { return }
        do {
            try HostFile.replace(path, with: try feeds.metrics(of: store, after: report), permissions: 0o644)
        } catch let error as HostError {
            Console.warning("the pass has ended, but its metrics were not written: \(error)")
        }
    }

    private func preview(
        _ feeds: FeedLists,
        _ settings: Settings,
        _ http: OutboundClient
    ) async throws -> PublishReport {
        let hub = try HubConnection(settings, PublisherSettings.connection)
        let client = try (hub.named() ?? hub.local(.full)).map { try hub.client($0, http: http) }
        let options = options(settings)
        let path = try PublisherState.storePath(settings)
        let preview = try await untilStopped {
            try await PublishPass.preview(
                lists: feeds,
                storePath: path,
                http: http,
                hub: client,
                options: options,
                environment: environment,
                reporter: PublishReporter(line: Console.say)
            )
        }
        try PreviewOutput.print(preview, asJSON: json)
        return preview.report
    }

    private static func summarize(_ report: PublishReport) {
        var parts = [
            Counted.text(report.polled, "feed polled", "feeds polled"),
            Counted.text(report.announced, "new entry", "new entries"),
            Counted.text(report.sent, "message sent", "messages sent"),
        ]
        if report.recorded > 0 {
            parts.append(Counted.text(report.recorded, "entry recorded only", "entries recorded only"))
        }
        if report.failedFeeds > 0 { parts.append(Counted.text(report.failedFeeds, "feed failed", "feeds failed")) }
        if report.pending > 0 { parts.append(Counted.text(report.pending, "message pending", "messages pending")) }
        Console.notice(parts.joined(separator: ", "))
    }
}

extension Console {
    /// Prints a line of the publisher; a line that an earlier pass already reported is printed on a terminal only.
    @Sendable static func say(_ line: PublishLine) {
        if line.isRepeat, !isInteractive { return }
        let text = Failure.joined(line.text, line.hint)
        switch line.level {
        case .error: error(text)
        case .warning: warning(text)
        case .hint: hint(text)
        case .notice: notice(text)
        }
    }
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
