import Formats
import FoundationEssentials

/// The state of a publisher: the body of our own route `PUT /{hub}/publishers/{publisher}`.
///
/// Times are ISO 8601 in UTC, as in all reports.
package struct PublisherReport: Sendable, Equatable, Codable {
    /// Maximum size of a report in bytes.
    package static let maximumBytes = 512 << 10
    /// Maximum number of feeds in a report.
    package static let maximumFeeds = 2_000
    /// Maximum number of entries of a feed.
    package static let maximumEntries = 20
    /// Maximum size of a text in a report in bytes.
    package static let maximumText = 2_000
    /// Maximum value of ``outbox`` and ``omittedFeeds``: more than a publisher can have, and no sum overflows.
    package static let maximumCount = 1_000_000_000
    /// Time that a report is kept; a publisher reports every ten minutes.
    package static let lifetime = Duration.seconds(7 * 86_400)

    /// The scheduler that runs the passes.
    package enum Schedule: String, Sendable, Codable {
        /// Something outside of the program: cron, a timer, a person.
        case pass
        /// The publisher itself, which keeps running.
        case watch
    }

    package struct Feed: Sendable, Equatable, Codable {
        package let category: String
        /// Without credentials and query.
        package let url: String
        package var title: String?
        /// The language of its entries, as its list names it.
        package var language: String?
        /// `well`, `failing`, `gone`, `new` or `paused`.
        package let state: String
        package var lastSuccess: String?
        /// Absent for a feed that is polled at the next pass, or never.
        package var nextPoll: String?
        package var failingSince: String?
        /// The date of its newest entry.
        package var newestEntry: String?
        /// The time of its last poll.
        package var lastPoll: String?
        /// Its last polls, in the form of ``FeedPolls``; the last one was at ``lastPoll``.
        package var polls: String?
        /// One line, for people.
        package var error: String?
        /// Its newest entries; absent for a feed that was not read yet, and where the report had no room for them.
        package var entries: [Entry]?

        /// The state of a feed that an operator has paused.
        package static let paused = "paused"

        package init(category: String, url: String, state: String) {
            (self.category, self.url, self.state) = (category, url, state)
        }

        /// True if no news comes from it.
        package var isFailing: Bool { state == "failing" || state == "gone" }
    }

    /// An entry of a feed, and why it was announced or not.
    package struct Entry: Sendable, Equatable, Codable {
        /// The state of an entry whose message the hub refused.
        package static let refused = "refused"

        package let title: String
        /// The entry's date in the feed.
        package var date: String?
        /// The time of the publisher's decision.
        package var judgedAt: String?
        /// `sent`, `waiting` and the like for an entry with a message, else the name of the reason.
        package let state: String
        /// One line, for people.
        package let reason: String
        /// The hub's id of the message that announced it.
        package var message: String?

        package init(title: String, state: String, reason: String) {
            (self.title, self.state, self.reason) = (title, state, reason)
        }
    }

    /// A request of an operator that the publisher has dealt with.
    package struct Handled: Sendable, Equatable, Codable {
        package let number: Int64
        /// The result, one line for people.
        package let outcome: String

        package init(number: Int64, outcome: String) { (self.number, self.outcome) = (number, outcome) }
    }

    /// The version of the program.
    package var version: String?
    package let schedule: Schedule
    package var lastPass: String
    /// The exit code of the pass.
    package var exitCode: Int
    /// Messages that wait for the hub.
    package var outbox: Int
    /// The time at which the oldest of them became due.
    package var outboxOldest: String?
    package var feeds: [Feed]
    /// Number of feeds that the report had no room for.
    package var omittedFeeds: Int?
    /// Its polls of the last three days; absent before the first one.
    package var pollHours: PollHours?
    /// The actions that it takes from operators, of ``PublisherRequest/Action``; absent for a version that takes none.
    package var actions: [String]?
    /// The requests that it has dealt with and that the hub does not know of yet.
    package var handled: [Handled]?

    package init(schedule: Schedule, lastPass: String, exitCode: Int, outbox: Int, feeds: [Feed]) {
        (self.schedule, self.lastPass, self.exitCode) = (schedule, lastPass, exitCode)
        (self.outbox, self.feeds) = (outbox, feeds)
    }
}

extension PublisherReport {
    /// True if the publisher takes requests for an action.
    package func takes(_ action: PublisherRequest.Action) -> Bool { actions?.contains(action.rawValue) ?? false }

    /// Reads and checks a report.
    ///
    /// - Throws: ``ProtocolError`` 400 with the problem.
    package init(json: [UInt8]) throws(ProtocolError) {
        do {
            self = try JSONReader.decode(PublisherReport.self, from: json)
        } catch {
            throw .badRequest("The body must be a JSON object with schedule, lastPass, exitCode, outbox and feeds.")
        }
        guard feeds.count <= Self.maximumFeeds else {
            throw .badRequest("A report has at most \(Self.maximumFeeds) feeds; count the others in 'omittedFeeds'.")
        }
        guard feeds.allSatisfy({ $0.entries?.count ?? 0 <= Self.maximumEntries }) else {
            throw .badRequest("A feed of a report has at most \(Self.maximumEntries) entries.")
        }
        let counts = 0...Self.maximumCount
        guard counts.contains(outbox), counts.contains(omittedFeeds ?? 0), (0...255).contains(exitCode) else {
            throw .badRequest(
                "'outbox' and 'omittedFeeds' must be 0 to \(Self.maximumCount), and 'exitCode' must be 0 to 255."
            )
        }
        guard pollHours?.isValid ?? true else {
            throw .badRequest("'pollHours' must have lists of equal length, at most \(PollHours.maximumCount) numbers.")
        }
        guard handled?.count ?? 0 <= PublisherRequest.maximumCount, actions?.count ?? 0 <= Self.maximumEntries else {
            throw .badRequest("A report has at most \(PublisherRequest.maximumCount) handled requests.")
        }
        for time in times where ISODateTime.parse(time) == nil {
            throw .badRequest("'\(time.excerpt)' is not a time in ISO 8601.")
        }
        for text in texts where text.utf8.count > Self.maximumText || !text.isLine {
            throw .badRequest("'\(text.excerpt)' is longer than \(Self.maximumText) bytes, or not one line.")
        }
    }

    private var times: [String] {
        [lastPass] + [outboxOldest, pollHours?.start].compactMap(\.self)
            + feeds.flatMap {
                [$0.lastSuccess, $0.nextPoll, $0.failingSince, $0.newestEntry, $0.lastPoll].compactMap(\.self)
            }
            + entries.flatMap { [$0.date, $0.judgedAt].compactMap(\.self) }
    }

    private var entries: some Sequence<Entry> { feeds.lazy.compactMap(\.entries).joined() }

    private var texts: [String] {
        [version].compactMap(\.self)
            + feeds.flatMap {
                [$0.category, $0.url, $0.state] + [$0.title, $0.language, $0.error, $0.polls].compactMap(\.self)
            }
            + (actions ?? []) + (handled ?? []).map(\.outcome)
            + entries.flatMap { [$0.title, $0.state, $0.reason] + [$0.message].compactMap(\.self) }
    }
}

extension String {
    /// True if a terminal shows the text as one line.
    var isLine: Bool {
        unicodeScalars.allSatisfy { $0.properties.generalCategory != .control && !$0.properties.isBidiControl }
    }
}

/// A publisher as the hub knows it: an element of the answer to our own route `GET /{hub}/publishers`.
package struct PublisherSummary: Sendable, Equatable, Codable {
    package let publisher: String
    package let reportedAt: String
    package let version: String?
    package let schedule: PublisherReport.Schedule
    package let lastPass: String
    package let exitCode: Int
    package let outbox: Int
    package let outboxOldest: String?
    package let feedCount: Int
    package let failedFeeds: Int
    /// The languages of each category's feeds, where lists name them.
    package let languages: [String: [String]]?
    /// Its polls of the last three days.
    package let pollHours: PollHours?

    package init(_ report: PublisherReport, of publisher: String, at time: Timestamp) {
        self.publisher = publisher
        reportedAt = time.wholeSecond
        (version, schedule, lastPass) = (report.version, report.schedule, report.lastPass)
        (exitCode, outbox, outboxOldest) = (report.exitCode, report.outbox, report.outboxOldest)
        pollHours = report.pollHours
        // Reports that earlier versions stored have counts of any size.
        feedCount = [report.feeds.count, report.omittedFeeds ?? 0].saturatingSum()
        failedFeeds = report.feeds.count(where: \.isFailing)
        let spoken = Dictionary(grouping: report.feeds.filter { $0.language != nil }, by: \.category)
            .mapValues { Set($0.compactMap(\.language)).sorted() }
        languages = spoken.isEmpty ? nil : Self.bounded(spoken)
    }

    /// Maximum size of ``languages`` in bytes: alarms, metrics and lists read the summaries of all publishers.
    private static let maximumLanguageBytes = 16 << 10

    private static func bounded(_ spoken: [String: [String]]) -> [String: [String]] {
        var room = maximumLanguageBytes
        return Dictionary(
            uniqueKeysWithValues: spoken.sorted { $0.key < $1.key }.prefix { category, names in
                room -= names.reduce(category.utf8.count) { $0 + $1.utf8.count }
                return room >= 0
            }.map { ($0.key, $0.value) }
        )
    }
}

/// The answer of `GET /{hub}/publishers`, by name.
package struct PublisherList: Sendable, Equatable, Codable {
    package let publishers: [PublisherSummary]

    package init(publishers: [PublisherSummary]) { self.publishers = publishers }
}

/// The answer of `GET /{hub}/publishers/{publisher}`.
package struct PublisherStatus: Sendable, Equatable, Codable {
    package let publisher: String
    package let reportedAt: String
    package let report: PublisherReport

    package init(publisher: String, reportedAt: String, report: PublisherReport) {
        (self.publisher, self.reportedAt, self.report) = (publisher, reportedAt, report)
    }
}
