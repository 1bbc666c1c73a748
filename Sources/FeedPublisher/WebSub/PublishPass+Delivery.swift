internal import Crypto
internal import Feeds

extension FeedPoll {
    /// Judges a document that the feed's hub delivered, and commits what it changes in one transaction, as for a fetch.
    ///
    /// It may hold new entries only, and come late or twice. So it says nothing of what has vanished, of how often the
    /// feed wants to be asked for, or of its validators; and what is more than a few new entries of a feed that is well
    /// known is left to a poll, which sees the whole document.
    ///
    /// The topic is the base of relative addresses; nobody else may be at work on the feed.
    ///
    /// - Returns: `nil` when the feed has to be polled instead.
    /// - Throws: ``PublisherStoreError`` when nothing can be written.
    func take(_ body: [UInt8], contentType: String?, topic: String, _ before: FeedRecord) throws -> Outcome? {
        guard before.baseline != nil, before.retired == nil else { return nil }
        // A poll reads such a feed after all others.
        guard try store.interruptedReading(before.id) == nil else { return nil }
        _ = try begin(before.id, Array(SHA256.hash(data: body)))
        return try reading(before.id) {
            defer { try? store.endReading(before.id) }
            return try judge(body, contentType: contentType, topic: topic, before)
        }
    }

    private func judge(
        _ body: [UInt8],
        contentType: String?,
        topic: String,
        _ before: FeedRecord
    ) throws -> Outcome? {
        let document = FetchedDocument(
            body: body,
            contentLocation: nil,
            contentType: contentType,
            validators: Validators(),
            answer: FetchResult.Answer(url: topic)
        )
        guard var feed = try? environment.read(document), feed.isComplete else { return nil }
        feed.title = feed.title ?? before.title
        let now = environment.now()
        let judge = judge(of: feed, before, now)
        // A few entries do not show whether the feed's identifiers still tell them apart.
        guard judge.identityRule == before.identityRule else { return nil }
        let reading = reading(judge, feed, before).ofDelivery
        let verdict = try store.commit(before, reading: reading, endsReading: true, now: now)
        guard let judgement = verdict?.judgement, !judgement.isReset else { return nil }
        return Outcome(announced: judgement.announcements.count, recorded: judgement.silent)
    }
}

extension DocumentReading {
    /// The same for a document that a hub delivered.
    ///
    /// What would be a reset if it were the whole document is not judged.
    fileprivate var ofDelivery: DocumentReading {
        let (judge, count) = (judge, entries.count)
        var reading = self
        reading.isPartial = true
        reading.judge = { state in
            var state = state
            state.vanished = count
            let verdict = judge(state)
            return verdict.judgement.isReset ? Verdict(judgement: verdict.judgement) : verdict
        }
        return reading
    }
}
