import ArgumentParser
import Foundation
import HostSystem
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
              newswire publishers newswire --json | jq '.report.feeds[] | select(.state == "failing")'
            """
    )

    @Argument(help: "List the feeds of this publisher.")
    var name: String?

    @Flag(help: "Also list the newest entries of each feed.")
    var entries = false

    @OptionGroup var options: HubRequestOptions

    func validate() throws {
        if entries, name == nil { throw ValidationError("--entries needs the name of a publisher") }
    }

    func run() async throws {
        if let name {
            let status = try await options.ask { hub in try await hub.publisher(name) }
            if options.json { return Console.print(try JSON.line(status)) }
            let summary = PublisherSummary(status.report, of: name, at: Self.time(status.reportedAt))
            Console.print(Self.line(summary))
            for feed in status.report.feeds {
                Console.print(Self.line(feed))
                for entry in entries ? feed.entries ?? [] : [] { Console.print(Self.line(entry)) }
            }
            if let omitted = status.report.omittedFeeds {
                Console.notice("\(Counted.text(omitted, "more feed is", "more feeds are")) not in the report")
            }
            return
        }
        let publishers = try await options.ask { hub in try await hub.publishers() }
        if options.json { return Console.print(try JSON.line(PublisherList(publishers: publishers))) }
        if publishers.isEmpty { Console.notice("no publisher has reported to the hub in the last seven days") }
        for publisher in publishers { Console.print(Self.line(publisher)) }
    }

    private static func line(_ publisher: PublisherSummary) -> String {
        let failed = publisher.failedFeeds > 0 ? ", \(publisher.failedFeeds) of them failing" : ""
        let waiting = publisher.outboxOldest.map { "\(Counted.text(publisher.outbox, "message")) pending since \($0)" }
        let parts = [
            publisher.publisher, "reported \(publisher.reportedAt)",
            "\(Counted.text(publisher.feedCount, "feed"))\(failed)", waiting,
            publisher.exitCode == 0 ? nil : "exit code \(publisher.exitCode)",
            publisher.schedule == .watch ? "watching" : nil, publisher.version.map { "version \($0)" },
        ]
        return TerminalText.safe(parts.compactMap(\.self).joined(separator: "  "))
    }

    private static func line(_ feed: PublisherReport.Feed) -> String {
        let parts = [
            feed.state, feed.category, feed.url, feed.failingSince.map { "failing since \($0)" },
            feed.error, feed.lastSuccess.map { "last read \($0)" },
        ]
        return TerminalText.safe("  " + parts.compactMap(\.self).joined(separator: "  "))
    }

    private static func line(_ entry: PublisherReport.Entry) -> String {
        let message = entry.message.map { " (message \($0))" } ?? ""
        return TerminalText.safe("    \(entry.title): \(entry.reason)\(message)")
    }

    private static func time(_ text: String) -> Timestamp {
        ISODateTime.parse(text).map { Timestamp($0) } ?? 0
    }
}
