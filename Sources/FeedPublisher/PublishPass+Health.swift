internal import Crypto
internal import FeedLists
internal import FoundationEssentials
internal import HostSystem
internal import HubClient
package import HubProtocol
internal import Logging

/// Reports of the publisher's health to the hub, for operators and for alarms.
extension PublishPass {
    /// Timeout of a call, short because a pass waits for it.
    static let hubTimeout: Duration = .seconds(5)
    /// Seconds between two reports without a change.
    private static let reportInterval: Double = 600
    /// Seconds between two reports that differ only in feeds' entries, which are most of a large report.
    private static let entryInterval: Double = 60
    /// Seconds until a hub without reports, or without requests, is asked again.
    static let absenceInterval: Double = 86_400

    /// Reports to the hub if something has changed, or after ten minutes.
    ///
    /// A report that fails is only logged: it never changes how a pass ends.
    package func reportHealth(after report: PublishReport, schedule: PublisherReport.Schedule = .pass) async {
        // Do not wait for a hub that is not available or refuses us.
        guard let hub, preview == nil, report.exit != .tryLater, report.exit != .badConfiguration else { return }
        do {
            try await tell(hub, report, schedule)
        } catch {
            logger.debug("the publisher's report was not sent to the hub", metadata: ["error.reason": "\(error)"])
        }
    }

    private func tell(_ hub: HubClient, _ report: PublishReport, _ schedule: PublisherReport.Schedule) async throws {
        let now = environment.now()
        let last = HealthNote(try store.note(.health), hub: hub.address)
        let age = last.map { now.timeIntervalSince($0.at) }.flatMap { $0 >= 0 ? $0 : nil } ?? .infinity
        if last?.state == HealthNote.absent, age < Self.absenceInterval { return }
        // Without a poll or a message nothing has changed, and reading all feeds costs time.
        let handled = try handledRequests(hub)
        let isIdle =
            schedule == .pass && report.polled == 0 && report.sent == 0 && report.refused == 0 && handled.isEmpty
        guard age >= Self.reportInterval || !isIdle else { return }
        var health = try health(after: report, schedule, now)
        health.handled = handled.isEmpty ? nil : handled
        health.fit()
        let digest = Self.digest(of: health)
        let entries = Self.digest(of: health.feeds.map(\.entries))
        let hasNewEntries = last?.entries != entries && age >= Self.entryInterval
        guard age >= Self.reportInterval || last?.state != digest || hasNewEntries else { return }
        let taken: Void? = try await HubError.ifSupported { () throws(HubError) in
            try await hub.report(health, publisher: options.publisher, timeout: Self.hubTimeout)
        }
        let note = HealthNote(
            hub: hub.address,
            at: now,
            state: taken == nil ? HealthNote.absent : digest,
            entries: entries
        )
        try store.setNote(.health, note.text)
    }

    private func health(
        after report: PublishReport,
        _ schedule: PublisherReport.Schedule,
        _ now: Date
    ) throws -> PublisherReport {
        let outbox = try store.pendingCount()
        let feeds = try lists.health(of: store, now: now)
        var health = PublisherReport(
            schedule: schedule,
            lastPass: ISODateTime.formatSeconds(now),
            exitCode: Int(report.exit.rawValue),
            outbox: outbox,
            feeds: feeds.map(Self.feed)
        )
        let entries = try store.judgedEntries()
        let positions = feeds.indices.compactMap { index in
            feeds[index].recordURLs.lazy.compactMap { entries[$0] }.first.map { (index, $0) }
        }
        try health.add(Dictionary(uniqueKeysWithValues: positions), from: store, now: now)
        health.version = environment.program.isEmpty ? nil : ReportText.line(environment.program)
        if outbox > 0 {
            health.outboxOldest = try store.pending().map(\.isDue).min().map(ISODateTime.formatSeconds)
        }
        health.pollHours = try store.pollHours(at: now)
        health.actions = PublisherRequest.Action.allCases.filter { !$0.isEdit || options.editableLists != nil }
            .map(\.rawValue)
        return health
    }

    private static func feed(_ health: FeedHealth) -> PublisherReport.Feed {
        var feed = PublisherReport.Feed(
            category: ReportText.line(health.category),
            url: ReportText.line(health.address.publicText),
            state: health.state.rawValue
        )
        feed.language = health.language?.text
        feed.title = health.title.map(ReportText.line)
        feed.lastSuccess = health.lastSuccess.map(ISODateTime.formatSeconds)
        feed.nextPoll = health.nextDue.map(ISODateTime.formatSeconds)
        feed.failingSince = health.failingSince.map(ISODateTime.formatSeconds)
        feed.error = health.problem.map(ReportText.line)
        feed.newestEntry = health.newestEntry.flatMap { ReportText.time($0) }
        if let polledAt = health.polledAt {
            feed.lastPoll = ISODateTime.formatSeconds(polledAt)
            feed.polls = health.polls.text
        }
        return feed
    }

    /// Returns a digest of a report without its entries, and without the times that change in every pass.
    ///
    /// The number of waiting messages changes with the entries, so only its being zero counts.
    private static func digest(of report: PublisherReport) -> String {
        var report = report
        report.lastPass = ""
        report.outbox = min(report.outbox, 1)
        (report.outboxOldest, report.pollHours) = (nil, nil)
        for index in report.feeds.indices {
            report.feeds[index].lastSuccess = nil
            report.feeds[index].nextPoll = nil
            (report.feeds[index].lastPoll, report.feeds[index].polls) = (nil, nil)
            report.feeds[index].entries = nil
        }
        return Self.digest(of: report as any Encodable)
    }

    private static func digest(of value: any Encodable) -> String {
        let text = (try? JSONEncoder.sorted.encode(value)) ?? Data()
        return SHA256.hash(data: text).prefix(16).map { String($0, radix: 16) }.joined(separator: "-")
    }
}

/// The last report to the hub: its time and digests.
private struct HealthNote {
    /// Stored instead of a digest if the hub has no such route.
    static let absent = "absent"

    let hub: String
    let at: Date
    /// The digest of the report without its entries.
    let state: String
    /// The digest of the entries; `nil` in a note of an earlier version.
    let entries: String?

    var text: String { "\(hub) \(at.timeIntervalSince1970) \(state)\(entries.map { " \($0)" } ?? "")" }
}

extension HealthNote {
    /// Reads a note; `nil` if the last report went to another hub, or there was none.
    init?(_ text: String?, hub: String) {
        let parts = text?.split(separator: " ") ?? []
        guard (3...4).contains(parts.count), parts[0] == hub, let seconds = Double(parts[1]) else { return nil }
        let entries = parts.count == 4 ? String(parts[3]) : nil
        self.init(hub: hub, at: Date(timeIntervalSince1970: seconds), state: String(parts[2]), entries: entries)
    }
}

extension PublisherReport {
    /// Leaves out entries, and then feeds, until the report fits; failing feeds are left out last.
    fileprivate mutating func fit() {
        let all = feeds.count
        if all > Self.maximumFeeds { dropFeeds(to: Self.maximumFeeds) }
        if (try? JSONEncoder().encode(self).count) ?? 0 > Self.maximumBytes {
            for index in feeds.indices { (feeds[index].polls, feeds[index].lastPoll) = (nil, nil) }
        }
        if (try? JSONEncoder().encode(self).count) ?? 0 > Self.maximumBytes {
            for index in feeds.indices { feeds[index].entries = nil }
        }
        while !feeds.isEmpty, (try? JSONEncoder().encode(self).count) ?? 0 > Self.maximumBytes {
            dropFeeds(to: feeds.count * 3 / 4)
        }
        if feeds.count < all { omittedFeeds = all - feeds.count }
    }

    private mutating func dropFeeds(to count: Int) {
        let failing = feeds.filter(\.isFailing)
        feeds = Array((failing + feeds.filter { !$0.isFailing }).prefix(count))
    }
}
