internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Polls a feed, and schedules its next turn.
struct FeedPoll: Sendable {
    /// Number of incomplete documents after which the entries that were read become the baseline: some feeds are always
    /// broken.
    private static let incompleteBaseline = 3
    /// Time without a failure after which an outage has ended: a feed that fails now and then is reported once.
    private static let outageCalm: Duration = .seconds(3_600)
    /// Time after which a feed that still fails is reported once more.
    private static let longProblem: Duration = .seconds(14 * 86_400)

    let list: FeedList
    let source: FeedSource
    let fetcher: FeedFetcher
    let environment: PublishEnvironment
    /// The start of the pass, from which due times are counted.
    let start: Date

    /// The outcome of a feed's turn.
    struct Outcome: Sendable {
        /// The feed's new record.
        var record: FeedRecord
        var lines: [PublishLine] = []
        var isUnchanged = false
        /// False if only held entries were released.
        var isPolled = true
        /// The line that explains why there is no document; `nil` if there is one, or nothing is new.
        var failure: PublishLine?
        var announced = 0
        var recorded = 0
        /// The wait that the host asked for.
        var hostWait: HostWait?
        /// The host that did not reply in time; requests for its other feeds would wait as long.
        ///
        /// `nil` for a private host, where each address may be another program.
        var silentHost: String?
        var discovery = PushDiscovery.unannounced
    }

    enum Answer: Sendable {
        case document(FetchedDocument)
        /// Nothing is new, or the turn failed.
        case settled(Outcome)
        case cancelled
    }

    /// Requests the feed once.
    func fetch(_ before: FeedRecord) async -> Answer {
        var record = before
        switch await fetcher.fetch(source, before, file: list.file) {
        case .cancelled:
            return .cancelled
        case .failed(let failure):
            return .settled(failed(before, failure))
        case .unchanged(let validators, let answer):
            // Only a 304 to an ETag shows that the server handles ETags well.
            if FeedFetcher.sendsETag(of: before) { record.identicalAnswers = 0 }
            // A 304 may omit validators that did not change.
            record.validators.etag = validators.etag ?? before.validators.etag
            record.validators.lastModified = validators.lastModified ?? before.validators.lastModified
            return .settled(unchanged(record, answer))
        case .document(let document):
            guard document.hash == before.bodyHash, before.baseline != nil else { return .document(document) }
            record.bodyReceived = environment.now()
            record.identicalAnswers += before.validators.isEmpty ? 0 : 1
            record.validators = document.validators
            return .settled(unchanged(record, document.answer))
        }
    }

    /// Returns the outcome of a document that was read.
    func succeeded(_ before: FeedRecord, _ feed: Feed, _ document: FetchedDocument) -> Outcome {
        var outcome = Outcome(record: before)
        outcome.record.readings += 1
        outcome.record.bodyReceived = environment.now()
        outcome.record.identicalAnswers = 0
        outcome.record.title = feed.title ?? before.title
        outcome.record.format = feed.format.description
        outcome.record.pace = FeedPace(feed)
        if feed.isComplete {
            outcome.record.validators = document.validators
            outcome.record.bodyHash = document.hash
            outcome.record.completeReading = outcome.record.readings
            outcome.record.incompleteReadings = 0
        } else {
            outcome.record.forgetDocument()
            outcome.record.incompleteReadings += 1
        }
        if feed.isComplete || outcome.record.incompleteReadings >= Self.incompleteBaseline {
            outcome.record.baseline = before.baseline ?? environment.now()
        }
        settle(&outcome, document.answer)
        report(truncated: feed, before, &outcome)
        let offer = PushOffer(fields: document.answer.links, url: document.url, feed: feed)
        if feed.isComplete {
            outcome.discovery = offer.map(PushDiscovery.offer) ?? .none
        } else {
            report(incomplete: feed, before, &outcome)
        }
        return outcome
    }

    private func unchanged(_ record: FeedRecord, _ answer: FetchResult.Answer) -> Outcome {
        var outcome = Outcome(record: record, isUnchanged: true)
        settle(&outcome, answer)
        let offer = PushOffer(fields: answer.links, url: answer.url, feed: nil)
        outcome.discovery = offer.map(PushDiscovery.offer) ?? .unannounced
        return outcome
    }

    private func settle(_ outcome: inout Outcome, _ answer: FetchResult.Answer) {
        let now = environment.now()
        if outcome.record.problem?.isFailure == true {
            let calm = now.timeIntervalSince(outcome.record.recoveredAt ?? now)
            // Another document does not end the program by chance.
            let mayReturn = outcome.record.problem?.hint == nil
            if mayReturn, calm >= 0, calm < Self.outageCalm.inSeconds {
                outcome.record.recoveredAt = outcome.record.recoveredAt ?? now
            } else {
                outcome.lines.append(PublishLine(.notice, "feed '\(source.address.publicText)' can be read again"))
                outcome.record.problem = nil
                outcome.record.recoveredAt = nil
            }
        }
        outcome.record.failures = 0
        outcome.record.failingSince = nil
        outcome.record.retired = nil
        outcome.record.lastSuccess = now
        outcome.record.note(outcome.isUnchanged ? .unchanged : .read, at: now)
        outcome.record.due = PollSchedule(source, pace: outcome.record.pace)
            .afterSuccess(answer.pause, from: start, answered: now, random: environment.random())
        if let line = follow(answer.movedTo, &outcome.record, file: list.file) { outcome.lines.append(line) }
    }

    /// Returns the outcome of a turn without a readable document.
    func failed(_ before: FeedRecord, _ failure: FetchFailure) -> Outcome {
        let now = environment.now()
        var record = before
        record.note(.failed, at: now)
        record.failures += 1
        record.recoveredAt = nil
        record.failingSince = before.failingSince ?? now
        if failure.spoilsValidators { record.forgetDocument() }
        // A redirect whose target is not a feed is counted from the beginning again.
        if failure.blamesAddress { record.move = nil }
        if record.movedURL != nil, failure.blamesAddress {
            // A move that turns out wrong is undone: the list's own address is polled again.
            record.movedURL = nil
            record.forgetDocument()
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
        if let since = record.failingSince, now.timeIntervalSince(since) > Self.longProblem.inSeconds {
            kind += FeedProblem.lasting
            line += "; it has failed since \(ISODateTime.formatDay(since))"
        }
        let isKnown = before.problem.map { FeedProblem.isSameOutage($0.kind, kind) } ?? false
        let problem = FeedProblem(kind: kind, line: before.problem?.kind == kind ? before.problem?.line ?? line : line)
        record.problem = problem
        let said = PublishLine(.warning, line, hint: problem.hint, isRepeat: isKnown)
        var outcome = Outcome(record: record, lines: [said], failure: said)
        if !source.isLocal { outcome.silentHost = failure.silentHost }
        if failure.isHostWide, let host = failure.host {
            let quiet = min(failure.retryAfter ?? PollSchedule.standardRetryAfter, PollSchedule.maximumRetryAfter)
            outcome.hostWait = HostWait(host: host, due: DueTime(after: quiet, from: now), reason: failure.what)
        }
        return outcome
    }

    private func report(truncated feed: Feed, _ before: FeedRecord, _ outcome: inout Outcome) {
        guard feed.isTruncated else {
            if outcome.record.problem?.kind == FeedProblem.truncated { outcome.record.problem = nil }
            return
        }
        // An outage that may not have ended is more important, and reported already.
        guard outcome.record.problem?.isFailure != true else { return }
        let line = "feed '\(source.address.publicText)' has \(FeedFinding.truncated)"
        let isKnown = before.problem?.kind == FeedProblem.truncated
        outcome.lines.append(PublishLine(.warning, line, isRepeat: isKnown))
        outcome.record.problem = FeedProblem(kind: FeedProblem.truncated, line: line)
    }

    private func report(incomplete feed: Feed, _ before: FeedRecord, _ outcome: inout Outcome) {
        let kind = "incomplete"
        let isKnown = before.problem?.kind == kind
        let line =
            "feed '\(source.address.publicText)' is truncated or broken (\(feed.malformed ?? "it has no end")); "
            + "\(Counted.text(feed.entries.count, "entry before that was", "entries before that were")) read"
        // The feed cannot be read completely, so the notice of `settle` would be wrong.
        outcome.lines.removeAll { $0.level == .notice }
        outcome.record.recoveredAt = nil
        outcome.lines.append(PublishLine(.warning, line, isRepeat: isKnown))
        outcome.record.problem = FeedProblem(kind: kind, line: line)
    }
}
