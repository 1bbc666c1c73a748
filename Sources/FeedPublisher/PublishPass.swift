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
    var resident: Resident?

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
    /// - Throws: ``PublisherStoreError`` when nothing can be recorded; the caller ends with 75 if it is temporary.
    package func run() async throws -> PublishReport {
        var course = Course(start: environment.now())
        try settleReadings()
        try await poll(try due(course.start).hosts, &course)
        try await send(&course)
        course.report.pending = try store.counts().pending
        return course.report
    }

    /// Takes the turn of one feed: fetches and reads its document, and publishes new entries.
    ///
    /// Due times count from the `start` of the pass, so that a timer of the same period finds the feed due.
    ///
    /// - Returns: `nil` if the task was cancelled.
    /// - Throws: ``PublisherStoreError`` if the turn cannot be recorded; then nothing of it was.
    func take(_ turn: Turn, _ start: Date) async throws -> FeedPoll.Outcome? {
        let poll = FeedPoll(
            list: turn.list,
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
        let isUpgrade = before.keysVersion < FeedRecord.currentKeys
        if preview != nil || isUpgrade || before.hasHeldEntries(dueAt: environment.now()) { before.forgetDocument() }

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
            if let judgement = try publish(feed, turn, as: outcome.record) {
                outcome.add(judgement, feed, source: turn.source)
            }
            return try released(outcome, turn)
        }
    }

    /// Publishes a feed's document in one transaction: loads the known keys and stories, judges, composes and records.
    ///
    /// A document that a hub delivered may contain new entries only: missing entries mean nothing, and if it looks
    /// like a reset, the whole document must be polled.
    ///
    /// - Parameters:
    ///   - feed: The document.
    ///   - turn: The feed and its record before the document.
    ///   - after: The feed's record after the whole document was read; `nil` for a document that a hub delivered.
    /// - Returns: `nil`, with nothing recorded, if the whole document is needed.
    /// - Throws: ``PublisherStoreError`` if the document cannot be recorded; then nothing was.
    func publish(_ feed: Feed, _ turn: Turn, as after: FeedRecord?) throws -> Judgement? {
        let (list, source, before) = (turn.list, turn.source, turn.record)
        let isWhole = after != nil
        let now = environment.now()
        let category = list.category.folded
        let title = source.title ?? feed.title ?? source.address.host
        let composer = MessageComposer(list: list, language: source.language)
        let judge = NewsJudge(
            feed: feed,
            title: source.title,
            record: before,
            existing: options.announceExisting,
            rules: source.rules,
            category: category,
            holdUntil: source.rules.notBefore?.release(after: now, in: environment.timeZone()),
            voice: Voice(source, in: list.localization),
            now: now
        )
        // A few entries do not show whether the feed's identifiers still distinguish all entries.
        guard isWhole || judge.identityRule == before.identityRule else { return nil }
        return try store.transaction { store in
            var state = try store.seen(judge.entryMarks, of: before)
            let candidates = judge.candidates(state)
            try store.seen(judge.furtherKeys(of: candidates), of: before.id, into: &state)
            let earlier = try store.judgedEntries(of: before.id)
            state.recent = earlier
            state.stories = try store.stories(
                judge.storyKeys(of: candidates),
                in: category,
                hasLanguages: judge.voice.isOneOfSeveral
            )
            if !isWhole { state.vanished = judge.entries.count }

            var judgement = judge.judge(candidates, state)
            guard isWhole || !(judgement.isReset || judgement.isForeign) else { return nil }
            judgement.announcements = try store.sharing(
                judgement.announcements,
                in: category,
                now: now,
                random: environment.idempotencyKey
            )

            let edition = composer.edition(
                of: judgement,
                feedTitle: title,
                idempotencyKey: environment.idempotencyKey
            )

            var record = judge.record(after ?? before, after: judgement, isWhole: isWhole)
            let marks = judge.marks(after: judgement)
            try store.mark(marks, of: record, now: now)
            if isWhole, !judgement.isForeign { try store.forgetMarks(beside: marks, of: record) }
            if before.heldUntil != nil || judgement.heldUntil != nil {
                let held = try store.hold(judge.held(judgement), of: record)
                // Earlier versions kept only the time.
                let former = isWhole || before.keysVersion == FeedRecord.currentKeys ? nil : before.heldUntil
                record.heldUntil = [judgement.heldUntil, held, former].compactMap(\.self).min()
            }
            try store.record(edition, of: record.id, in: category, now: now)
            if !edition.stories.isEmpty { try store.save(page: feed.link, of: record.id) }
            try store.save(record)
            try store.endReading(record.id)
            let shown = FeedPreview(feed, list, source, judge, judgement, edition)
            if !judgement.isForeign {
                try store.save(JudgedEntry.merge(shown, by: judge, into: earlier, isWhole: isWhole), of: record.id)
            }
            preview?.add(shown)
            return judgement
        }
    }

    /// Publishes a feed's held entries that are due and have left the feed, or whose feed was not read.
    private func released(_ outcome: FeedPoll.Outcome, _ turn: Turn) throws -> FeedPoll.Outcome {
        let now = environment.now()
        guard turn.record.hasHeldEntries(dueAt: now) else { return outcome }
        var outcome = outcome
        for held in try store.read({ try $0.heldEntries(of: turn.record.id, dueAt: now) }) {
            guard let record = try store.feed(turn.record.id) else { break }
            // One at a time: several entries could look like a document with new identifiers.
            var feed = Feed(format: FeedFormat(.atom, version: nil))
            feed.title = record.title
            feed.entries = [held.entry]
            if let judgement = try publish(feed, Turn(turn.source, in: turn.list, record), as: nil) {
                outcome.add(judgement, feed, source: turn.source)
            }
        }
        outcome.record = try store.feed(turn.record.id) ?? outcome.record
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
            if endsReading { try store.endReading(outcome.record.id) }
        }
        if let failure = outcome.failure {
            preview?.add(FeedPreview(turn.list, turn.source, outcome.record, state: .failed(failure)))
        }
        return outcome
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
                    + "\(recorded) old ones are recorded, not announced"
            )
        )
    }
}
