internal import FeedLists
internal import Feeds
internal import Formats
internal import FoundationEssentials
internal import HubClient
internal import HubProtocol
internal import Logging

/// Requests of operators, which the hub keeps for its publishers.
extension PublishPass {
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
            try await hub.requests(to: options.publisher, timeout: Self.hubTimeout)
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
        switch PublisherRequest.Action(rawValue: request.action) {
        case .poll: return try changed(request.url, poll)
        case .pause:
            let now = environment.now()
            return try changed(request.url) { _, record in
                try store.pause(record.id, since: now)
                return "paused"
            }
        case .resume:
            return try changed(request.url) { _, record in
                try store.pause(record.id, since: nil)
                return "resumed"
            }
        case .add: return await edited(request, added)
        case .remove: return await edited(request, removed)
        case nil: return "not done: this version of the publisher does not know the action"
        }
    }

    /// Changes all feeds that have an address in reports.
    private func changed(
        _ url: String,
        _ change: (FeedSource, FeedRecord) throws -> String
    ) throws -> String {
        let sources = lists.feeds.map(\.source)
        let records = try store.enroll(sources.map(\.address))
        let outcomes = try sources.filter { ReportText.line($0.address.publicText) == url }
            .compactMap { source in try records[source.address.text].map { try change(source, $0) } }
        return outcomes.first ?? "not done: no list has the feed"
    }

    private func poll(_ source: FeedSource, _ record: FeedRecord) throws -> String {
        guard record.pausedAt == nil else { return "not done: the feed is paused" }
        try store.pollNow(record.id)
        let wait = try store.hostWaits().latest(of: record.hosts(source), at: environment.now())
        guard let wait else { return "polled at once" }
        return "polled after \(ISODateTime.formatSeconds(wait.due.at)): its host asks for a pause"
    }

    /// Changes a list, if the publisher lets operators do that.
    private func edited(
        _ request: PublisherRequest,
        _ edit: (_ url: String, _ category: String, _ folder: String) async -> String
    ) async -> String {
        guard let folder = options.editableLists, let category = request.category else {
            return "not done: the publisher's setting 'list-edits' does not allow changes of its lists"
        }
        return await edit(request.url, category, folder)
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
