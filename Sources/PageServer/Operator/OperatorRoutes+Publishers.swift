import Formats
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// The reports of publishers on themselves and their feeds.
extension OperatorRoutes {
    /// The age at which a report is overdue; a publisher that watches feeds reports every ten minutes.
    private static let reportWarning = Duration.seconds(3_600)
    private static let shownFeeds = 100

    static func publishers(_ request: OperatorRequest) async throws -> Response {
        let publishers = try await request.hub.publishers()
        let rows = publishers.map { publisher -> [OperatorTable.Cell] in
            [
                .init(publisher.publisher, link: address(of: publisher.publisher, request)),
                .init(words.time(publisher.reportedAt), isBad: isLate(publisher, request)),
                .init("\(words.time(publisher.lastPass)), exit code \(publisher.exitCode)"),
                .init("\(publisher.outbox)", isBad: publisher.outbox > 0),
                .init("\(publisher.failedFeeds) of \(publisher.feedCount)", isBad: publisher.failedFeeds > 0),
                .init(publisher.version ?? "unknown"),
            ]
        }
        let table = OperatorTable(
            "Publishers",
            ["Publisher", "Last report", "Last pass", "Outbox", "Failed feeds", "Version"],
            rows,
            empty: "No publisher has reported in the last 7 days."
        )
        let section = OperatorSection("Publishers", table: table)
        return request.answer(.publishers, "Publishers and their feeds", [section])
    }

    static func publisher(_ request: OperatorRequest) async throws -> Response {
        let status = try await request.hub.publisher(request.parameter("name"))
        let report = status.report
        // Feeds that need attention come first.
        let feeds = report.feeds.filter(\.isFailing) + report.feeds.filter { !$0.isFailing }
        let (shown, next) = request.part(of: feeds, shownFeeds)
        let rows = shown.map { feed -> [OperatorTable.Cell] in
            [
                .init(feed.title ?? feed.url, link: address(of: feed, status.publisher, request)),
                .init(feed.category), .init(feed.state, isBad: feed.isFailing),
                strip(of: feed), .init(feed.lastSuccess.map(words.time) ?? "never"),
                .init(feed.newestEntry.map(words.time) ?? ""), .init(feed.nextPoll.map(words.time) ?? ""),
                .init(feed.error ?? ""),
            ]
        }
        let facts = [
            ReportFact("Last report", words.time(status.reportedAt)),
            ReportFact("Last pass", words.time(report.lastPass)),
            ReportFact("Exit code", "\(report.exitCode)", isBad: report.exitCode != 0),
            ReportFact("Messages waiting for the hub", "\(report.outbox)", isBad: report.outbox > 0),
            ReportFact("Version", report.version ?? "unknown"),
            ReportFact("Feeds left out", report.omittedFeeds.flatMap { $0 > 0 ? "\($0)" : nil }),
        ]
        let table = OperatorTable(
            "Feeds",
            [
                "Feed", "Category", "State", "Polls", "Last success", "Newest entry", "Next poll", "Last error",
            ],
            rows,
            empty: "It has no feeds."
        )
        var sections = [
            OperatorSection("Report", facts: facts), OperatorSection("Feeds, failed ones first", table: table),
        ]
        if report.takes(.add) {
            var add = OperatorSection("Add a feed")
            add.forms = [
                OperatorForm(
                    change: "\(address(of: status.publisher, request))/requests",
                    hidden: ["action": PublisherRequest.Action.add.rawValue],
                    [
                        .init("Category", name: "category", value: ""),
                        .init("Address", name: "url", value: "", type: "url"),
                    ],
                    button: "Add",
                    hint: "The address of a feed, or of a page that links to one. The publisher reads it first."
                )
            ]
            sections.append(add)
        } else if report.actions != nil {
            sections.append(OperatorSection("Add a feed", lines: [noEdits]))
        }
        sections.append(try await requests(to: status.publisher, request))
        let more = next.map {
            OperatorLink("More feeds", href: "\(address(of: status.publisher, request))?from=\($0)")
        }
        return request.answer(.publishers, "Publisher \(status.publisher)", sections, more: more)
    }

    /// A feed with its newest entries, and the reason why each was announced or not.
    ///
    /// Reports contain addresses without queries, so several feeds can have the same address.
    static func feed(_ request: OperatorRequest) async throws -> Response {
        let status = try await request.hub.publisher(request.parameter("name"))
        let (category, url) = (request.query["category"], request.query["url"])
        let feeds = status.report.feeds.filter { $0.category == category && $0.url == url }
        guard let first = feeds.first else {
            throw request.refusal(
                .notFound,
                "There is no such feed",
                "The last report of '\(status.publisher)' does not have it."
            )
        }
        var shown = feeds.flatMap { sections(of: $0, request) }
        if let actions = actions(on: first, status, request) { shown.insert(actions, at: 1) }
        shown.append(try await requests(to: status.publisher, about: first.url, request))
        shown[0].link = OperatorLink("Publisher \(status.publisher)", href: address(of: status.publisher, request))
        return request.answer(.publishers, "Feed \(first.title ?? first.url)", shown)
    }

    private static func sections(of feed: PublisherReport.Feed, _ request: OperatorRequest) -> [OperatorSection] {
        let facts = [
            ReportFact("Address", feed.url), ReportFact("Category", feed.category),
            ReportFact("State", feed.state, isBad: feed.isFailing),
            ReportFact("Last success", feed.lastSuccess.map(words.time) ?? "never"),
            ReportFact("Newest entry", feed.newestEntry.map(words.time)),
            ReportFact("Nothing announced because", silence(of: feed)),
            ReportFact("Language", feed.language), ReportFact("Next poll", feed.nextPoll.map(words.time)),
            ReportFact("Failing since", feed.failingSince.map(words.time)),
            ReportFact("Last error", feed.error, isBad: true),
        ]
        let rows = (feed.entries ?? []).map { entry -> [OperatorTable.Cell] in
            let message = entry.message.map { "\(request.root)messages/\(PercentEncoding.encode($0))" }
            return [
                .init(entry.title, link: message), .init(entry.date.map(words.time) ?? ""),
                .init(entry.reason, isBad: entry.state == PublisherReport.Entry.refused),
                .init(entry.judgedAt.map(words.time) ?? ""),
            ]
        }
        let table = OperatorTable(
            "Newest entries",
            ["Entry", "Its date", "Announced", "Decided"],
            rows,
            empty: "No entries were reported: the publisher has not read the feed yet, or its report was full."
        )
        let polls = OperatorTable(
            "Last polls",
            ["Last polls, oldest first"],
            feed.polls == nil ? [] : [[strip(of: feed)]],
            empty: "It has not been polled yet."
        )
        return [
            OperatorSection("State", facts: facts, table: polls), OperatorSection("Newest entries", table: table),
        ]
    }

    private static func strip(of feed: PublisherReport.Feed) -> OperatorTable.Cell {
        let last = feed.lastPoll.flatMap { ISODateTime.parse($0) }.map { Timestamp($0) }
        return OperatorTable.Cell(FeedPolls(feed.polls ?? ""), until: last, words)
    }

    /// The most frequent reason for which the newest entries were not announced; `nil` if one was.
    private static func silence(of feed: PublisherReport.Feed) -> String? {
        let entries = feed.entries ?? []
        guard !entries.isEmpty, entries.allSatisfy({ $0.message == nil }) else { return nil }
        let reasons = Dictionary(grouping: entries, by: \.reason).mapValues(\.count)
        let most = reasons.max { ($0.value, $1.key) < ($1.value, $0.key) }
        return most.map { "\($0.key) (\($0.value) of \(Counted.text(entries.count, "entry", "entries")))" }
    }

    // MARK: Requests

    private static let noEdits =
        "The publisher does not let operators change its lists here: set 'list-edits: true' in its configuration, or run "
        + "'newswire feeds add' where it runs."

    /// The buttons for one feed; `nil` for a publisher that takes no requests.
    private static func actions(
        on feed: PublisherReport.Feed,
        _ status: PublisherStatus,
        _ request: OperatorRequest
    ) -> OperatorSection? {
        guard status.report.actions != nil else { return nil }
        let isPaused = feed.state == PublisherReport.Feed.paused
        let choices: [(PublisherRequest.Action, String)] =
            isPaused
            ? [(.resume, "Resume"), (.remove, "Remove from the list")]
            : [(.poll, "Poll now"), (.pause, "Pause"), (.remove, "Remove from the list")]
        var section = OperatorSection("Actions")
        section.forms = choices.filter { status.report.takes($0.0) }.map { action, label in
            OperatorForm(
                change: "\(address(of: status.publisher, request))/requests",
                hidden: [
                    "action": action.rawValue, "category": feed.category, "url": feed.url,
                ],
                button: label
            )
        }
        if !status.report.takes(.remove) { section.lines = [noEdits] }
        return section
    }

    /// The requests of operators to a publisher, newest first.
    private static func requests(
        to publisher: String,
        about url: String? = nil,
        _ request: OperatorRequest
    ) async throws -> OperatorSection {
        let asked = try await request.hub.requests(to: publisher).reversed()
            .filter { url == nil || $0.url == url }
        let rows = asked.map { asked -> [OperatorTable.Cell] in
            [
                .init(asked.askedAt.map(words.time) ?? ""), .init(asked.action), .init(asked.category ?? ""),
                .init(asked.url), .init(asked.outcome ?? "waits for the publisher"),
            ]
        }
        let table = OperatorTable(
            "Requests",
            ["Time", "Action", "Category", "Address", "Outcome"],
            rows,
            empty: "Nothing was asked of the publisher in the last 7 days."
        )
        let hint = "A publisher that watches feeds takes them within seconds, others at their next pass."
        return OperatorSection("Requests", lines: rows.isEmpty ? [] : [hint], table: table)
    }

    static func ask(_ request: OperatorRequest) async throws -> Response {
        let form = try await request.base.form()
        let publisher = request.parameter("name")
        func value(_ name: String) -> String { String((form[name] ?? "").trimming(\.isWhitespace)) }
        guard let action = PublisherRequest.Action(rawValue: value("action")) else {
            throw request.refusal(.badRequest, "This action is unknown", "Use the buttons of the pages.")
        }
        let category = value("category")
        let asked = PublisherRequest(action, url: value("url"), category: category.isEmpty ? nil : category)
        let detail = [action.rawValue, asked.category, asked.url].compactMap(\.self).joined(separator: " ")
        _ = try await request.perform("ask publisher \(publisher)", detail, outcome: { "request \($0)" }) {
            try await request.hub.ask(publisher, asked).number ?? 0
        }
        return request.base.seeOther(address(of: publisher, request))
    }

    private static func address(
        of feed: PublisherReport.Feed,
        _ publisher: String,
        _ request: OperatorRequest
    ) -> String {
        let query = "category=\(PercentEncoding.encode(feed.category))&url=\(PercentEncoding.encode(feed.url))"
        return "\(address(of: publisher, request))/feed?\(query)"
    }

    /// The publishers on the overview.
    static func feedSection(_ publishers: [PublisherSummary], _ request: OperatorRequest) -> OperatorSection {
        let failed = publishers.map(\.failedFeeds).saturatingSum()
        let late = publishers.count { isLate($0, request) }
        let facts = [
            ReportFact("Publishers", "\(publishers.count)"),
            ReportFact("Without a report for an hour", "\(late)", isBad: late > 0),
            ReportFact(
                "Failed feeds",
                "\(failed) of \(publishers.map(\.feedCount).saturatingSum())",
                isBad: failed > 0
            ),
        ]
        let link = OperatorLink("Publishers and feeds", href: "\(request.root)publishers")
        return OperatorSection("Publishers and feeds", facts: facts, link: link)
    }

    /// True if a report is overdue; always false for a publisher that cron or a timer runs.
    private static func isLate(_ publisher: PublisherSummary, _ request: OperatorRequest) -> Bool {
        guard publisher.schedule == .watch, let date = ISODateTime.parse(publisher.reportedAt) else { return false }
        return request.base.now - Timestamp(date) > reportWarning
    }

    private static func address(of publisher: String, _ request: OperatorRequest) -> String {
        "\(request.root)publishers/\(PercentEncoding.encode(publisher))"
    }
}
