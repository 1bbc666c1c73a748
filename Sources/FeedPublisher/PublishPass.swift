package import FeedLists
internal import Feeds
internal import FoundationEssentials
package import HubClient
internal import HubProtocol
package import Logging
package import OutboundHTTP

/// One polling pass: polls the feeds that are due, records new entries, and sends pending messages.
///
/// If it is killed at any point, the next pass continues from there: no entry is lost, and none is announced twice if
/// the hub supports idempotency keys.
package struct PublishPass: Sendable {
    /// The progress of one pass.
    struct Course {
        /// The time when the due feeds were found.
        let start: Date
        var report = PublishReport()
        /// True if the hub is not available or refuses us: a later pass tries again.
        var hasHubFailed = false
    }

    var lists: FeedLists
    let store: PublisherStore
    let fetcher: FeedFetcher
    let hub: HubClient?
    var options: PublishOptions
    let environment: PublishEnvironment
    let reporter: PublishReporter
    let logger: Logger
    /// Collects the results of a dry run.
    var preview: PreviewCollector?
    /// Set in a publisher that keeps running, which sends messages itself.
    var watchContext: WatchContext?

    /// Creates a pass that sends to a hub.
    ///
    /// Only one pass at a time may use a store (``PublisherLock``). Feeds see the user agent of `http`.
    package init(
        lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient,
        hub: HubClient?,
        options: PublishOptions = PublishOptions(),
        environment: PublishEnvironment = PublishEnvironment(),
        reporter: PublishReporter,
        logger: Logger = Logger(label: "newswire.publish")
    ) {
        self.lists = lists
        self.store = store
        self.fetcher = FeedFetcher(http: http, now: environment.now)
        self.hub = hub
        self.options = options
        self.environment = environment
        self.reporter = reporter
        self.logger = logger
    }

    /// Runs the pass.
    ///
    /// A cancelled task ends it between two feeds or messages.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError`` when nothing can be recorded; the caller ends with 75 if it is
    ///   temporary.
    package func run() async throws -> PublishReport {
        var course = Course(start: environment.now())
        try settleReadings()
        try await poll(try due(course.start).hosts, &course)
        try await send(&course)
        course.report.pending = try store.pendingCount()
        return course.report
    }

    /// Takes the turn of one feed: fetches and reads its document, and publishes new entries.
    ///
    /// Due times count from the `start` of the pass, so that a timer of the same period finds the feed due.
    ///
    /// - Returns: `nil` if the task was cancelled.
    /// - Throws: ``SQLiteFiles/DatabaseFileError`` if the turn cannot be recorded; then nothing of it was.
    func take(_ turn: Turn, _ start: Date) async throws -> FeedPoll.Outcome? {
        let poll = FeedPoll(
            list: turn.feed.list,
            source: turn.source,
            fetcher: fetcher,
            environment: environment,
            start: start
        )
        var before = turn.record
        if turn.isRelease {
            return try released(FeedPoll.Outcome(record: before, isUnchanged: true, isPolled: false), turn)
        }
        // The first document after an upgrade adds what earlier versions did not store.
        let needsDocument = try store.read({ try $0.records(of: turn) }).contains { record in
            record.keysVersion < FeedRecord.currentKeys || record.hasHeldEntries(dueAt: environment.now())
        }
        if preview != nil || needsDocument { before.forgetDocument() }

        let document: FetchedDocument
        switch await poll.fetch(before) {
        case .cancelled: return nil
        case .settled(let outcome): return try released(record(outcome, turn), turn)
        case .document(let fetched): document = fetched
        }
        if let interrupted = try begin(before.id, document) {
            return try record(poll.failed(before, .endedProgram(interrupted)), turn)
        }
        return try reading(before.id) {
            let feed: Feed
            do throws(FeedError) {
                feed = try environment.read(document)
            } catch {
                return try record(poll.failed(before, .reading(error)), turn, endsReading: true)
            }
            var outcome = poll.succeeded(before, feed, document)
            for judgement in try publish(feed, turn, as: outcome.record) ?? [] {
                outcome.add(judgement, feed, source: turn.source)
            }
            return try released(outcome, turn)
        }
    }

    /// Publishes a feed's document in one transaction: loads the known keys and stories, judges, composes and records,
    /// for each list that has the feed.
    ///
    /// A document that a hub delivered may contain new entries only: missing entries mean nothing, and if it looks
    /// like a reset, the whole document must be polled.
    ///
    /// - Parameters:
    ///   - feed: The document.
    ///   - turn: The feed and its record before the document.
    ///   - after: The feed's record after the whole document was read; `nil` for a document that a hub delivered.
    /// - Returns: The lists' judgements; `nil`, with nothing recorded, if the whole document is needed.
    /// - Throws: ``SQLiteFiles/DatabaseFileError`` if the document cannot be recorded; then nothing was.
    func publish(_ feed: Feed, _ turn: Turn, as after: FeedRecord?) throws -> [Judgement]? {
        let isWhole = after != nil
        return try store.transaction { store in
            var judged: [Judged] = []
            for (place, record) in zip(turn.judges, try store.records(of: turn)) {
                let judge = judge(feed, turn.record.id, for: place, record)
                // A few entries do not show whether the feed's identifiers still distinguish all entries.
                guard isWhole || judge.identityRule == record.identityRule else { return nil }
                let earlier = try store.judgedEntries(of: record.id)
                let (candidates, state) = try store.known(to: judge, earlier, isWhole: isWhole)
                let judgement = judge.judge(candidates, state)
                guard isWhole || !(judgement.isReset || judgement.isForeign) else { return nil }
                judged.append(Judged(place: place, judge: judge, earlier: earlier, judgement: judgement))
            }
            if let after { try store.countPoll(of: after) }
            // The record of the fetches, unless a list records its entries in it, too.
            if let after, !turn.judges.contains(where: { $0.feed == after.id }) { try store.save(after) }
            for index in judged.indices { try record(&judged[index], feed, turn, as: after, in: store) }
            let further = judged.filter { $0.judge.record.id != turn.record.id }
            if further.contains(where: \.judgement.needsDocument), var own = try store.feed(turn.record.id) {
                own.forgetDocument()
                try store.save(own)
            }
            try store.endReading(turn.record.id)
            return judged.map(\.judgement)
        }
    }

    /// A document as one list judges it.
    private struct Judged {
        let place: Judge
        let judge: NewsJudge
        let earlier: [JudgedEntry]
        var judgement: Judgement
    }

    private func judge(_ feed: Feed, _ number: Int64, for place: Judge, _ record: FeedRecord) -> NewsJudge {
        let (list, source, now) = (place.list, place.source, environment.now())
        return NewsJudge(
            feed: feed,
            title: source.title,
            record: record,
            number: number,
            existing: options.announceExisting,
            rules: source.rules,
            category: list.category.folded,
            holdUntil: source.rules.notBefore?.release(after: now, in: environment.timeZone()),
            feedLanguage: FeedLanguage(source, in: list.localization),
            now: now
        )
    }

    /// Records a list's judgement of a document, and its messages.
    private func record(
        _ judged: inout Judged,
        _ feed: Feed,
        _ turn: Turn,
        as after: FeedRecord?,
        in store: StoreTransaction
    ) throws {
        let (list, source, judge) = (judged.place.list, judged.place.source, judged.judge)
        let (isWhole, now, before) = (after != nil, judge.now, judge.record)
        judged.judgement.announcements = try store.sharing(
            judged.judgement.announcements,
            in: judge.category,
            now: now,
            random: environment.idempotencyKey
        )
        let judgement = judged.judgement
        let composed = MessageComposer(list: list, language: source.language).compose(
            from: judgement,
            feedTitle: source.title ?? feed.title ?? source.address.host,
            idempotencyKey: environment.idempotencyKey
        )
        let read = after.map { before.id == $0.id ? $0 : before.read(as: $0) }
        var record = judge.record(read ?? before, after: judgement, isWhole: isWhole)
        let marks = judge.marks(after: judgement)
        try store.mark(marks, of: record, now: now)
        if isWhole, !judgement.isForeign { try store.forgetMarks(beside: marks, of: record) }
        if before.heldUntil != nil || judgement.heldUntil != nil {
            let held = try store.hold(judge.held(judgement), of: record)
            // Earlier versions kept only the time.
            let former = isWhole || before.keysVersion == FeedRecord.currentKeys ? nil : before.heldUntil
            record.heldUntil = [judgement.heldUntil, held, former].compactMap(\.self).min()
        }
        try store.record(composed, of: record.id, in: judge.category, now: now)
        if !composed.stories.isEmpty { try store.save(page: feed.link, of: record.id) }
        try store.save(record)
        let shown = FeedPreview(feed, list, source, judge, judgement, composed)
        if !judgement.isForeign {
            let entries = JudgedEntry.merge(shown, by: judge, into: judged.earlier, isWhole: isWhole)
            try store.save(entries, of: record.id)
        }
        preview?.add(shown)
    }

    /// Publishes a feed's held entries that are due and have left the feed, or whose feed was not read.
    private func released(_ outcome: FeedPoll.Outcome, _ turn: Turn) throws -> FeedPoll.Outcome {
        let now = environment.now()
        var outcome = outcome
        for place in turn.judges {
            guard try store.read({ try $0.record(of: place, turn) }).hasHeldEntries(dueAt: now) else { continue }
            for held in try store.read({ try $0.heldEntries(of: place.feed, dueAt: now) }) {
                guard let record = try store.feed(turn.record.id) else { break }
                // One at a time: several entries could look like a document with new identifiers.
                var feed = Feed(format: FeedFormat(.atom, version: nil))
                feed.title = record.title
                feed.entries = [held.entry]
                for judgement in try publish(feed, Turn(turn.feed, [place], record), as: nil) ?? [] {
                    outcome.add(judgement, feed, source: turn.source)
                }
            }
            outcome.record = try store.feed(turn.record.id) ?? outcome.record
        }
        return outcome
    }

    /// Records a turn without a document to judge.
    private func record(
        _ outcome: FeedPoll.Outcome,
        _ turn: Turn,
        endsReading: Bool = false
    ) throws -> FeedPoll.Outcome {
        try store.transaction { store in
            if let hostWait = outcome.hostWait { try store.save(hostWait, now: environment.now()) }
            try store.save(outcome.record)
            if outcome.isPolled { try store.countPoll(of: outcome.record) }
            if endsReading { try store.endReading(outcome.record.id) }
        }
        if let failure = outcome.failure {
            preview?.add(turn.feed, outcome.record, state: .failed(failure))
        }
        return outcome
    }
}

extension StoreTransaction {
    /// Returns the record in which a list keeps what it knows of a feed's entries.
    fileprivate func record(of place: PublishPass.Judge, _ turn: PublishPass.Turn) throws -> FeedRecord {
        place.feed == turn.record.id ? turn.record : try feed(place.feed) ?? turn.record
    }

    /// Returns the records of all lists that judge a feed, in their order.
    fileprivate func records(of turn: PublishPass.Turn) throws -> [FeedRecord] {
        try turn.judges.map { try record(of: $0, turn) }
    }

    /// Returns the entries of a document that may have to be announced, and what is known of them.
    fileprivate func known(
        to judge: NewsJudge,
        _ earlier: [JudgedEntry],
        isWhole: Bool
    ) throws -> ([Candidate], SeenState) {
        var state = try seen(judge.entryMarks, of: judge.record)
        let candidates = judge.candidates(state)
        try seen(judge.furtherKeys(of: candidates), of: judge.record.id, into: &state)
        state.recent = earlier
        state.stories = try stories(
            judge.storyKeys(of: candidates),
            in: judge.category,
            hasLanguages: judge.feedLanguage.isOneOfSeveral
        )
        if !isWhole { state.vanished = judge.entries.count }
        return (candidates, state)
    }
}

extension FeedPoll.Outcome {
    /// Adds the judgement of the turn's document.
    fileprivate mutating func add(_ judgement: Judgement, _ feed: Feed, source: FeedSource) {
        announced += judgement.announcements.count + judgement.translations.count
        recorded += judgement.silent
        if judgement.isForeign {
            let head = DocumentHead(title: feed.title, link: feed.link)
            lines.append(
                PublishLine(
                    .notice,
                    "feed '\(source.address.publicText)' returned a document of another site, "
                        + "'\(ReportText.line(head.title ?? ""))' (\(ReportText.line(head.host ?? ""))); "
                        + "it is read if the next poll returns it again"
                )
            )
        }
        guard judgement.isReset else { return }
        lines.append(
            PublishLine(
                .notice,
                "feed '\(source.address.publicText)' gave all its entries new ids; "
                    + "\(judgement.silent) old ones are recorded, not announced"
            )
        )
    }
}
