internal import Crypto
internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HostSystem
internal import HubProtocol

/// One feed's turn in a pass: ask, read, judge, and commit what changed in one transaction.
struct FeedPoll: Sendable {
    /// Documents not read to their end after which what there is becomes the baseline: some feeds are always broken.
    private static let incompleteBaseline = 3
    /// A feed that fails longer is reported once more.
    private static let longTrouble: Duration = .seconds(14 * 86_400)

    let list: FeedList
    let source: FeedSource
    let store: PublisherStore
    let fetcher: FeedFetcher
    let environment: PublishEnvironment
    let existing: ExistingEntries
    /// When the pass began: due times count from it, so that a timer of the same period finds the feed due.
    let start: Date
    /// True if a document that ended the program is read all the same.
    var isForced = false
    /// In a dry run: then the whole document is asked for and every entry is accounted for.
    var preview: PreviewCollector?

    struct Outcome: Sendable {
        var lines: [PublishLine] = []
        var isUnchanged = false
        var isFailed = false
        var announced = 0
        var recorded = 0
        /// The host wants quiet.
        var hostWait: HostWait?
        /// The host gave no answer in time, and its other feeds would wait as long; never one's own, where each address
        /// may be another program's.
        var silentHost: String?
        var isCancelled = false
        var discovery = PushDiscovery.untold
    }

    /// - Throws: ``PublisherStoreError`` when nothing can be written; then nothing of this fetch was.
    func run(_ known: FeedRecord) async throws -> Outcome {
        var record = known
        let isHeldDue = record.heldUntil.map { $0 <= environment.now() } ?? false
        if preview != nil || isHeldDue { forgetDocument(&record) }
        switch await fetcher.fetch(source, record, file: list.file) {
        case .cancelled:
            return Outcome(isCancelled: true)
        case .failed(let failure):
            return try fail(record, failure)
        case .unchanged(let validators, let answer):
            // Only a 304 to its ETag shows that a server handles it well.
            if FeedFetcher.sendsETag(of: record) { record.identicalAnswers = 0 }
            // A 304 may leave out what did not change.
            record.validators.etag = validators.etag ?? record.validators.etag
            record.validators.lastModified = validators.lastModified ?? record.validators.lastModified
            return try succeedUnchanged(record, answer)
        case .document(let document):
            let hash = Array(SHA256.hash(data: document.body))
            guard hash != record.bodyHash || record.baseline == nil else {
                var same = record
                same.identicalAnswers += record.validators.isEmpty ? 0 : 1
                same.validators = document.validators
                return try succeedUnchanged(same, document.answer)
            }
            if let interrupted = try begin(record.id, hash) { return try fail(record, .endedProgram(interrupted)) }
            return try reading(record.id) {
                let feed: Feed
                do throws(FeedError) {
                    feed = try environment.read(document)
                } catch {
                    return try fail(record, .reading(error), endsReading: true)
                }
                return try take(feed, document, hash: hash, record)
            }
        }
    }

    /// Records that a document is being read, in case that this ends the program.
    ///
    /// - Returns: Why the document is not to be read; `nil` when it is.
    func begin(_ feed: Int64, _ hash: [UInt8]) throws -> InterruptedReading? {
        try store.beginReading(
            feed,
            hash: hash,
            program: environment.program,
            isForced: isForced,
            now: environment.now()
        )
    }

    /// Reads and judges a document whose reading was begun; what it commits ends the reading.
    func reading<Value>(_ feed: Int64, _ work: () throws -> Value) throws -> Value {
        do {
            return try TrapNote.naming(feed, work)
        } catch {
            // The program goes on, so the document did not end it.
            try? store.endReading(feed)
            throw error
        }
    }

    /// Whoever brings a document, it is judged by the list's rules.
    func judge(of feed: Feed, _ record: FeedRecord, _ now: Date) -> NewsJudge {
        NewsJudge(
            feed: feed,
            record: record,
            existing: existing,
            rules: source.rules,
            category: list.category.folded,
            holdUntil: source.rules.notBefore?.release(after: now, in: environment.timeZone()),
            voice: Voice(source, in: list.localization),
            now: now
        )
    }

    private func take(
        _ feed: Feed,
        _ document: FetchedDocument,
        hash: [UInt8],
        _ before: FeedRecord
    ) throws -> Outcome {
        let now = environment.now()
        let judge = judge(of: feed, before, now)
        var record = before
        record.readings += 1
        record.identicalAnswers = 0
        record.identityRule = judge.identityRule
        record.newestEntry = judge.newestEntry
        record.title = feed.title ?? before.title
        record.format = feed.format.description
        record.pace = FeedPace(feed)
        if feed.isComplete {
            record.validators = document.validators
            record.bodyHash = hash
            record.completeReading = record.readings
            record.incompleteReadings = 0
        } else {
            forgetDocument(&record)
            record.incompleteReadings += 1
        }
        if feed.isComplete || record.incompleteReadings >= Self.incompleteBaseline {
            record.baseline = before.baseline ?? now
        }
        var outcome = Outcome()
        succeed(&record, &outcome, document.answer)
        let offer = PushOffer(fields: document.answer.links, url: document.url, feed: feed)
        if feed.isComplete { outcome.discovery = offer.map(PushDiscovery.offer) ?? .none }
        if !feed.isComplete { report(incomplete: feed, before, &record, &outcome) }
        let reading = reading(judge, feed, before)
        let verdict = try store.commit(record, reading: reading, endsReading: true, now: now)
        let judgement = verdict?.judgement
        if let verdict { show(feed, judge, verdict) }
        outcome.announced = judgement.map { $0.announcements.count + $0.translations.count } ?? 0
        outcome.recorded = judgement?.silent ?? 0
        if let judgement, judgement.isReset {
            outcome.lines.append(
                PublishLine(
                    .notice,
                    "feed '\(source.address.publicText)' gave all its entries new ids; "
                        + "\(judgement.silent) old ones are recorded, not announced"
                )
            )
        }
        return outcome
    }

    func reading(_ judge: NewsJudge, _ feed: Feed, _ before: FeedRecord) -> DocumentReading {
        let composer = MessageComposer(list: list, language: source.language)
        let title = source.title ?? feed.title ?? source.address.host
        let environment = environment
        return DocumentReading(
            category: list.category.folded,
            lastCompleteReading: before.completeReading,
            entries: judge.marks,
            furtherKeys: judge.furtherKeys,
            stories: judge.stories,
            hasLanguages: judge.voice.isOneOfSeveral
        ) { state in
            let judgement = judge.judge(state)
            var verdict = Verdict(marks: judge.marks(after: judgement), judgement: judgement)
            verdict.stories = judgement.announcements.map { announcement in
                let key = environment.idempotencyKey()
                let message = composer.message(for: announcement, feedTitle: title, idempotencyKey: key)
                return Verdict.Story(message: message, change: announcement.change)
            }
            verdict.closed = judgement.closed
            for change in verdict.stories.map(\.change) + judgement.closed {
                for (row, message) in change.parted { verdict.amended[row] = composer.leaving(message) }
            }
            for story in judgement.repeats.values {
                guard let row = story.row, let message = verdict.amended[row] ?? story.unsent else { continue }
                verdict.amended[row] = composer.naming(title, in: message)
            }
            for translation in judgement.translations {
                let story = translation.story
                guard let row = story.row, let message = verdict.amended[row] ?? story.unsent else { continue }
                let announcement = translation.announcement
                verdict.amended[row] = composer.adding(announcement, feedTitle: title, to: message)
                verdict.translated.append((row, announcement.change))
            }
            return verdict
        }
    }

    /// Accounts for every entry of the document, for a dry run.
    private func show(_ feed: Feed, _ judge: NewsJudge, _ verdict: Verdict) {
        guard let preview else { return }
        let announced = zip(verdict.judgement.announcements, verdict.stories)
        let messages = Dictionary(announced.map { ($0.index, $1.message) }) { first, _ in first }
        let translations = Dictionary(
            verdict.judgement.translations.map { ($0.announcement.index, $0.story) }
        ) { first, _ in first }
        var shown = FeedPreview(
            category: list.category.text,
            address: source.address,
            title: source.title ?? feed.title,
            state: .read
        )
        shown.entries = feed.entries.enumerated().map { index, entry in
            let silence = verdict.judgement.silences[index] ?? judge.withoutIdentity(entry)
            let message = messages[index] ?? translations[index]?.unsent
            return EntryPreview(
                title: entry.title ?? message?.headlines ?? entry.id ?? entry.link ?? "",
                link: entry.link,
                date: entry.date,
                dateTrouble: judge.dateTrouble(entry.date),
                fate: message.map { Self.fate(of: $0, judge.now) }
                    ?? .silent(silence, story: verdict.judgement.repeats[index]?.headline),
                idempotencyKey: message?.idempotencyKey,
                translationOf: translations[index]?.headline
            )
        }
        preview.add(shown)
    }

    private static func fate(of message: OutboxMessage, _ now: Date) -> EntryPreview.Fate {
        guard let hour = message.notBefore, hour > now else { return .waiting }
        return .held(until: hour)
    }

    private func succeedUnchanged(_ record: FeedRecord, _ answer: FetchResult.Answer) throws -> Outcome {
        var record = record
        var outcome = Outcome(isUnchanged: true)
        succeed(&record, &outcome, answer)
        let offer = PushOffer(fields: answer.links, url: answer.url, feed: nil)
        outcome.discovery = offer.map(PushDiscovery.offer) ?? .untold
        try store.commit(record, now: environment.now())
        return outcome
    }

    private func succeed(_ record: inout FeedRecord, _ outcome: inout Outcome, _ answer: FetchResult.Answer) {
        if record.trouble != nil {
            outcome.lines.append(PublishLine(.notice, "feed '\(source.address.publicText)' can be read again"))
        }
        record.trouble = nil
        record.failures = 0
        record.failingSince = nil
        record.retired = nil
        let now = environment.now()
        record.lastSuccess = now
        record.due = PollSchedule(source, pace: record.pace)
            .afterSuccess(answer.wish, from: start, answered: now, random: environment.random())
        follow(answer.movedTo, &record, &outcome)
    }

    private func fail(_ before: FeedRecord, _ failure: FetchFailure, endsReading: Bool = false) throws -> Outcome {
        let now = environment.now()
        var record = before
        var outcome = Outcome(isFailed: true)
        record.failures += 1
        record.failingSince = before.failingSince ?? now
        if failure.spoilsValidators { forgetDocument(&record) }
        // A target that is no feed has to prove itself from the beginning.
        if failure.blamesAddress { record.move = nil }
        if record.movedURL != nil, failure.blamesAddress {
            // A move that turns out wrong is undone: the list's own address is asked again.
            record.movedURL = nil
            forgetDocument(&record)
        }
        record.due = PollSchedule(source, pace: record.pace).afterFailure(
            failure.keepsPace ? 1 : record.failures,
            retryAfter: failure.retryAfter,
            from: now,
            random: environment.random()
        )
        if failure.isGone { record.retired = now }
        var kind = failure.kind
        var line = failure.line(source)
        if let since = record.failingSince, now.timeIntervalSince(since) > Self.longTrouble.inSeconds {
            kind += ", long"
            line += "; it fails since \(since.formatted(.iso8601.year().month().day()))"
        }
        let isKnown = before.trouble?.kind == kind
        record.trouble = FeedTrouble(kind: kind, line: isKnown ? before.trouble?.line ?? line : line)
        outcome.lines.append(PublishLine(.warning, line, isRepeat: isKnown))
        preview?.add(
            FeedPreview(
                category: list.category.text,
                address: source.address,
                title: source.title ?? before.title,
                state: .failed(line)
            )
        )
        if !source.isLocal { outcome.silentHost = failure.silentHost }
        if failure.isHostWide, let host = failure.host {
            let quiet = min(failure.retryAfter ?? PollSchedule.standardRetryAfter, PollSchedule.maximumRetryAfter)
            outcome.hostWait = HostWait(host: host, due: DueTime(after: quiet, from: now))
        }
        try store.commit(record, hostWait: outcome.hostWait, endsReading: endsReading, now: now)
        return outcome
    }

    private func forgetDocument(_ record: inout FeedRecord) {
        record.validators = Validators(url: record.validators.url)
        record.bodyHash = nil
        record.identicalAnswers = 0
    }

    private func report(
        incomplete feed: Feed,
        _ before: FeedRecord,
        _ record: inout FeedRecord,
        _ outcome: inout Outcome
    ) {
        let kind = "incomplete"
        let isKnown = before.trouble?.kind == kind
        let line =
            "feed '\(source.address.publicText)' is cut or broken (\(feed.malformed ?? "it has no end")); "
            + "the \(feed.entries.count) entries before that were read"
        // It was well enough to read, so the good news of `succeed` would be wrong.
        outcome.lines.removeAll { $0.level == .notice }
        outcome.lines.append(PublishLine(.warning, line, isRepeat: isKnown))
        record.trouble = FeedTrouble(kind: kind, line: line)
    }
}
