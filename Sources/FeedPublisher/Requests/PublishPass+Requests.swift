internal import FeedLists
internal import Feeds
internal import Formats
internal import FoundationEssentials
internal import HubClient
internal import HubProtocol
internal import Logging

/// Requests of operators, which the hub keeps for its publishers.
extension PublishPass {
    /// Timeout of the call, short because a pass waits for it.
    private static let requestTimeout: Duration = .seconds(5)
    /// Seconds until a hub without this route is asked again.
    private static let absenceInterval: Double = 86_400

    /// Carries out what operators have asked for since the last call.
    ///
    /// A failure is only logged: the requests are read again at the next call, and each can be repeated.
    ///
    /// - Returns: True if there is something to report.
    @discardableResult
    package func handleRequests() async -> Bool {
        guard let hub, preview == nil else { return false }
        do {
            return try await handleRequests(hub)
        } catch {
            logger.debug("the hub's requests were not read", metadata: ["error.reason": "\(error)"])
            return false
        }
    }

    private func handleRequests(_ hub: HubClient) async throws -> Bool {
        var note = RequestNote(try store.note(.requests), hub: hub.address)
        let now = environment.now()
        if let since = note.absentSince, (0..<Self.absenceInterval).contains(now.timeIntervalSince(since)) {
            return false
        }
        let former = note
        let kept = try await HubError.ifSupported { () throws(HubError) in
            try await hub.requests(to: options.publisher, timeout: Self.requestTimeout)
        }
        note.absentSince = kept == nil ? now : nil
        let waiting = (kept ?? []).filter { $0.outcome == nil && $0.number != nil }
        note.outcomes = note.outcomes.filter { outcome in waiting.contains { $0.number == Int64(outcome.key) } }
        for request in waiting {
            guard let number = request.number.map({ Int($0) }), note.outcomes[number] == nil else { continue }
            note.outcomes[number] = ReportText.line(try await outcome(of: request))
            try store.setNote(.requests, note.text)
        }
        if note != former { try store.setNote(.requests, note.text) }
        return !note.outcomes.isEmpty
    }

    /// The requests that were dealt with, and that the hub does not know of yet.
    func handledRequests(_ hub: HubClient) throws -> [PublisherReport.Handled] {
        let outcomes = RequestNote(try store.note(.requests), hub: hub.address).outcomes.sorted { $0.key < $1.key }
        return outcomes.suffix(PublisherRequest.maximumCount)
            .map { PublisherReport.Handled(number: Int64($0.key), outcome: $0.value) }
    }

    // MARK: Actions

    /// Carries out a request.
    ///
    /// - Returns: What was done, or the reason why it was not.
    private func outcome(of request: PublisherRequest) async throws -> String {
        guard let action = PublisherRequest.Action(rawValue: request.action) else {
            return "this version of the publisher does not know the action"
        }
        guard !action.isEdit else {
            guard let folder = options.editableLists, let category = request.category else {
                return "not done: the publisher's setting 'list-edits' does not allow changes of its lists"
            }
            return await action == .add
                ? added(request.url, to: category, in: folder) : removed(request.url, from: category, in: folder)
        }
        let feeds = lists.feeds.filter { ReportText.line($0.source.address.publicText) == request.url }
        guard !feeds.isEmpty else { return "not done: no list has the feed" }
        let records = try store.enroll(lists.feeds.map(\.source.address))
        let now = environment.now()
        var wait: HostWait?
        for feed in feeds {
            guard let record = records[feed.source.address.text] else { continue }
            switch action {
            case .poll:
                if record.pausedAt != nil { return "not done: the feed is paused" }
                if wait == nil { wait = try store.hostWaits().latest(of: record.hosts(feed.source), at: now) }
                try store.pollNow(record.id)
            case .pause: try store.pause(record.id, since: now)
            case .resume: try store.pause(record.id, since: nil)
            case .add, .remove: break
            }
        }
        switch action {
        case .poll:
            let until = wait.map { ISODateTime.formatSeconds($0.due.at) }
            return until.map { "polled after \($0): its host asks for a pause" } ?? "polled at once"
        case .pause: return "paused"
        case .resume: return "resumed"
        case .add, .remove: return ""
        }
    }

    private func added(_ address: String, to category: String, in folder: String) async -> String {
        do {
            let feeds = try await FeedSearch(http: fetcher.http, addresses: options.addedFeeds)
                .candidates(of: address, guesses: false)
            guard let feed = feeds.first(where: { $0.problem == nil }) else {
                return "not added: \(feeds.first?.problem ?? "the page links to no feed")"
            }
            let outline = OPMLOutline([OPMLOutline.Attribute(.xmlURL, feed.address)])
            let plan = try FeedImport(
                OPMLDocument(title: nil, outlines: [outline]),
                into: FeedListFolder.load(directory: folder),
                category: category
            )
            if let skipped = plan.report.skipped.first { return "already in \(skipped.place)" }
            if let refused = plan.report.refused.first { return "not added: \(refused.reason)" }
            try plan.write()
            let count = feed.entries.map { Counted.text($0, "entry", "entries") } ?? "its entries"
            return "added: \(feed.title ?? feed.address), \(count)"
        } catch {
            return "not added: \(error)"
        }
    }

    private func removed(_ url: String, from category: String, in folder: String) -> String {
        do {
            let lists = try FeedListFolder.load(directory: folder)
            return try lists.remove(from: category) { ReportText.line($0.publicText) == url }
                ? "removed" : "not done: the list does not have the feed"
        } catch {
            return "not removed: \(error)"
        }
    }
}

/// The outcomes of requests, until the hub knows them.
private struct RequestNote: Codable, Equatable {
    let hub: String
    /// The time when the hub was found to have no such route.
    var absentSince: Date?
    /// By the number of the request.
    var outcomes: [Int: String] = [:]

    /// Reads a note; an empty one if the last one was about another hub.
    init(_ text: String?, hub: String) {
        let read = text.flatMap { try? JSONReader.decode(RequestNote.self, from: $0, limits: .stored) }
        if let read, read.hub == hub { self = read } else { self.hub = hub }
    }

    var text: String {
        get throws { try JSONEncoder.sorted.text(self) }
    }
}
