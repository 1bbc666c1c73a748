import ArgumentParser
import Foundation
import HubClient
import HubProtocol

struct PublishersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publishers",
        abstract: "Show the state of the publishers that report to a hub: feeds, last pass, outbox.",
        discussion: """
            'newswire publish' reports at the end of a pass if something has changed, and otherwise every ten minutes. \
            The hub forgets a publisher that has not reported for seven days. With a name, the command lists the \
            publisher's feeds; with --entries also the newest entries of each feed, and why each was announced or not.

            EXAMPLES
              newswire publishers
              newswire publishers newswire
              newswire publishers newswire --entries
              newswire publishers newswire --pause https://example.org/world.rss
              newswire publishers newswire --json | jq '.report.feeds[] | select(.state == "failing")'
            """
    )

    @Argument(help: "List the feeds of this publisher.")
    var name: String?

    @Flag(help: "Also list the newest entries of each feed.")
    var entries = false

    @Flag(help: "List what was asked of the publisher in the last seven days.")
    var requests = false

    @Option(help: ArgumentHelp("Ask the publisher to poll this feed now, by its listed address.", valueName: "url"))
    var poll: [String] = []

    @Option(help: ArgumentHelp("Ask the publisher to leave this feed out until it is resumed.", valueName: "url"))
    var pause: [String] = []

    @Option(help: ArgumentHelp("Ask the publisher to poll this paused feed again.", valueName: "url"))
    var resume: [String] = []

    @OptionGroup var options: HubRequestOptions

    private var asked: [PublisherRequest] {
        pause.map { PublisherRequest(.pause, url: $0) } + resume.map { PublisherRequest(.resume, url: $0) }
            + poll.map { PublisherRequest(.poll, url: $0) }
    }

    func validate() throws {
        guard name == nil else { return }
        if entries { throw ValidationError("--entries needs the name of a publisher") }
        if requests { throw ValidationError("--requests needs the name of a publisher") }
        if !asked.isEmpty { throw ValidationError("--poll, --pause and --resume need the name of a publisher") }
    }

    func run() async throws {
        if let name, !asked.isEmpty {
            let kept = try await options.ask { hub in
                var kept: [PublisherRequest] = []
                for request in asked { kept.append(try await hub.ask(name, request)) }
                return kept
            }
            try Console.show(PublisherRequests(requests: kept), asJSON: options.json, .rows(kept.map(Self.row)))
            return
        }
        if let name, requests {
            let kept = try await options.ask { hub in try await hub.requests(to: name) }
            return try Console.show(
                PublisherRequests(requests: kept),
                asJSON: options.json,
                .rows(kept.map(Self.row))
            )
        }
        if let name {
            let status = try await options.ask { hub in try await hub.publisher(name) }
            let summary = PublisherSummary(status.report, of: name, at: Self.time(status.reportedAt))
            let feeds = status.report.feeds.flatMap { feed in
                [Self.row(feed)] + (entries ? feed.entries ?? [] : []).map(Self.row)
            }
            try Console.show(status, asJSON: options.json, .rows([Self.row(summary)] + feeds))
            if !options.json, let omitted = status.report.omittedFeeds {
                Console.notice("\(Counted.text(omitted, "more feed is", "more feeds are")) not in the report")
            }
            return
        }
        let publishers = try await options.ask { hub in try await hub.publishers() }
        let list = PublisherList(publishers: publishers)
        try Console.show(list, asJSON: options.json, .rows(publishers.map(Self.row)))
        guard publishers.isEmpty, !options.json else { return }
        Console.notice("no publisher has reported to the hub in the last seven days")
    }

    private static func row(_ publisher: PublisherSummary) -> [String?] {
        let failed = publisher.failedFeeds > 0 ? ", \(publisher.failedFeeds) of them failing" : ""
        let waiting = publisher.outboxOldest.map { "\(Counted.text(publisher.outbox, "message")) pending since \($0)" }
        return [
            publisher.publisher, "reported \(publisher.reportedAt)",
            "\(Counted.text(publisher.feedCount, "feed"))\(failed)", waiting,
            publisher.exitCode == 0 ? nil : "exit code \(publisher.exitCode)",
            publisher.schedule == .watch ? "watching" : nil, publisher.version.map { "version \($0)" },
        ]
    }

    private static func row(_ feed: PublisherReport.Feed) -> [String?] {
        [
            "  \(feed.state)", feed.category, feed.url, feed.failingSince.map { "failing since \($0)" },
            feed.error, feed.lastSuccess.map { "last read \($0)" },
        ]
    }

    private static func row(_ request: PublisherRequest) -> [String?] {
        [
            request.askedAt, request.action, request.category, request.url,
            request.outcome ?? "waits for the publisher",
        ]
    }

    private static func row(_ entry: PublisherReport.Entry) -> [String?] {
        ["    \(entry.title): \(entry.reason)" + (entry.message.map { " (message \($0))" } ?? "")]
    }

    private static func time(_ text: String) -> Timestamp {
        ISODateTime.parse(text).map { Timestamp($0) } ?? 0
    }
}
