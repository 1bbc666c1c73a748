import ArgumentParser
import FeedLists
import FeedPublisher
import Foundation
import HostSystem
import HubProtocol
import OutboundHTTP
import Settings

struct FeedsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feeds",
        abstract: "Show the state of feeds, preview their messages, and import or export feed lists.",
        subcommands: [
            FeedsListCommand.self, FeedsCheckCommand.self, FeedsPreviewCommand.self, FeedsDiscoverCommand.self,
            FeedsAddCommand.self, FeedsImportCommand.self, FeedsExportCommand.self,
        ]
    )
}

struct FeedsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the feeds, with last success, next poll, pauses, and failures with their reasons.",
        discussion: """
            Reads the publisher's database; sends no request.

            EXAMPLES
              newswire feeds list
              newswire feeds list --json | jq '.[] | select(.state == "failing")'
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<FeedStateFlags>

    @Option(help: ArgumentHelp("List this category only.", valueName: "name"), completion: .listedCategories)
    var category: String?

    @Flag(help: "Print JSON.")
    var json = false

    private struct Row: Encodable {
        let category: String
        let url: String
        let title: String?
        let format: String?
        let state: String
        let lastSuccess: Date?
        let nextDue: Date?
        let wait: FeedHealth.Wait?
        let failures: Int
        let failingSince: Date?
        let trouble: String?
        let push: PushHealth?

        init(_ feed: FeedHealth) {
            (category, url, title, format) = (feed.category, feed.address.display, feed.title, feed.format)
            (state, lastSuccess, nextDue, wait) = (feed.state.rawValue, feed.lastSuccess, feed.nextDue, feed.wait)
            (failures, failingSince, push) = (feed.failures, feed.failingSince, feed.push)
            trouble = feed.problem.map { Failure.joined($0, feed.hint) }
        }
    }

    func run() async throws {
        let settings = try configuration.load()
        let chosen = try PublisherState.lists(settings).chosen(category: category)
        let health = try chosen.health(storePath: PublisherState.storePath(settings))
        try Console.show(health.map(Row.init), asJSON: json, .rows(health.flatMap(Self.rows)))
    }

    private static func rows(_ feed: FeedHealth) -> [[String?]] {
        let read = feed.lastSuccess.map { "read \(ISODateTime.formatSeconds($0))" } ?? "never read"
        let word = feed.wait == nil ? "due" : "waits until"
        let due =
            feed.state == .gone
            ? "no longer polled"
            : feed.pausedAt.map { "paused since \(ISODateTime.formatSeconds($0))" }
                ?? feed.nextDue.map { "\(word) \(ISODateTime.formatSeconds($0))" } ?? "due"
        let failures = feed.failures > 0 ? "failed \(Counted.times(feed.failures))" : nil
        let notes = [
            feed.problem.map { Failure.joined($0, feed.hint) },
            feed.wait.flatMap { $0.reason == feed.problem ? nil : "waits because \($0.reason)" },
            feed.push.map(text),
        ]
        return [[feed.category, feed.state.rawValue, read, due, failures, feed.address.display]]
            + notes.compactMap(\.self).map { ["  \($0)"] }
    }

    private static func text(_ push: PushHealth) -> String {
        let lease = push.leaseEnd.map { ", lease until \(ISODateTime.formatSeconds($0))" } ?? ""
        let delivered = push.lastDelivery.map { ", last delivery \(ISODateTime.formatSeconds($0))" } ?? ""
        let reason = push.reason.map { ": \($0)" } ?? ""
        return switch push.state {
        case .active: "pushed by \(push.hub)\(lease)\(delivered)"
        case .unproven: "pushed by \(push.hub)\(lease)\(delivered), and polled as well\(reason)"
        case .pending: "not pushed by \(push.hub) yet\(reason)"
        case .denied: "not pushed: \(push.hub) denies it\(reason)"
        }
    }
}

struct FeedsPreviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Fetch feeds now, and show which entries would be sent, and why others would not; change nothing.",
        discussion: """
            Fetches all listed feeds, those of a category, or those that you name, which need not be in a list. To \
            count recipients as well, use 'newswire publish --dry-run'.

            EXAMPLES
              newswire feeds preview --category World
              newswire feeds preview https://example.org/world.rss --announce-existing 3
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<FeedPreviewFlags>

    @Argument(help: ArgumentHelp("The feeds (default: all listed ones).", valueName: "url"))
    var urls: [String] = []

    @Option(
        help: ArgumentHelp(
            "Fetch the feeds of this category; for a new feed, treat it as one of them.",
            valueName: "name"
        ),
        completion: .listedCategories
    )
    var category: String?

    @Option(help: ArgumentHelp("Announce N entries of feeds that are read for the first time.", valueName: "N|all"))
    var announceExisting = ExistingEntries.none

    @Flag(help: "Allow files, and addresses of this machine and its network, for feeds that are in no list.")
    var local = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let settings = try configuration.load()
        let feeds = try chosenLists(settings)
        var options = PublishOptions()
        options.announceExisting = announceExisting
        options.cap = settings.value(PublisherSettings.cap).limit
        options.announceWithin = settings.value(PublisherSettings.announceWithin)
        options.force = true
        let path = try PublisherState.storePath(settings)
        let contact = settings.value(PublisherSettings.contact)
        let preview = try await withHTTP(userAgent: Program.userAgent(contact: contact)) { http in
            try await self.preview(feeds, path, http, options)
        }
        try PreviewOutput.print(preview, asJSON: json)
        if preview.report.failedFeeds > 0 { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func chosenLists(_ settings: Settings) throws -> FeedLists {
        // A feed can be previewed before any list exists.
        let directory = settings.value(PublisherSettings.feeds)
        let needsLists = urls.isEmpty || category != nil || HostFile.exists(directory)
        let all = needsLists ? try PublisherState.lists(settings) : FeedLists([])
        return try all.chosen(category: category).chosen(
            urls: urls,
            isLocal: local,
            hasCategory: category != nil
        )
    }

    private func preview(
        _ feeds: FeedLists,
        _ path: String,
        _ http: OutboundClient,
        _ options: PublishOptions
    ) async throws -> PublishPreview {
        try await untilStopped {
            try await PublishPass.preview(
                lists: feeds,
                storePath: path,
                http: http,
                hub: nil,
                options: options,
                reporter: PublishReporter(line: Console.say)
            )
        }
    }
}
