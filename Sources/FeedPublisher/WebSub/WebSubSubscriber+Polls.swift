internal import FeedLists
internal import FoundationEssentials
internal import Signals
internal import Synchronization

/// Effects of polls on subscriptions, and of subscriptions on polls.
extension WebSubSubscriber {
    /// Evaluates a poll: subscribes to the hub that the feed names, and checks that the hub delivers everything.
    func polled(_ source: FeedSource, _ before: FeedRecord, _ outcome: FeedPoll.Outcome) throws {
        let wasPinged = outcome.failure == nil && state.withLock { $0.pinged.remove(before.id) } != nil
        switch outcome.discovery {
        case .unannounced: break
        case .none: try subscribe(before.id, to: nil)
        case .offer(let offer): try subscribe(before.id, to: offer)
        }
        guard outcome.failure == nil, let subscription = try store.subscription(ofFeed: before.id) else { return }
        let now = environment.now()
        // Entries that this publisher held until their dates may have been delivered long ago.
        let wasHeld = before.hasHeldEntries(dueAt: now)
        let isMissed =
            outcome.announced + outcome.recorded > 0 && before.baseline != nil && !wasPinged && !wasHeld
        if isMissed, subscription.isReliable(at: now) {
            try store.change(subscription.id) { subscription in
                subscription.missedSince = now
                return false
            }
            reporter.say(
                .notice,
                "hub '\(subscription.hubName)' did not deliver new entries of feed '\(source.address.publicText)'; "
                    + "the feed is polled at its own interval until it does"
            )
        } else if !isMissed, subscription.isReliable(at: now) {
            let interval = max((source.interval ?? .standard).duration, WebSubSubscription.pollingInterval)
            let jitter = 0.9 + 0.1 * environment.random().fraction
            var due = DueTime(after: interval * jitter, from: now)
            // Held entries are read again at their dates.
            if let held = try store.feed(before.id)?.heldUntil, held < due.at {
                due = DueTime(at: held, wait: due.wait)
            }
            // The hub may deny the subscription at this moment.
            try store.reschedule(before.id, due, isLater: true) { store in
                try store.subscription(ofFeed: before.id)?.isReliable(at: now) ?? false
            }
        }
    }

    private func subscribe(_ feed: Int64, to offer: PushOffer?) throws {
        let isSecret = offer.map { trustsPlainHubs || $0.hub.lowercased().hasPrefix("https:") } ?? false
        let isNew = try store.subscribe(
            feed,
            to: offer,
            base: base,
            path: environment.idempotencyKey(),
            secret: isSecret ? environment.idempotencyKey() + environment.idempotencyKey() : nil,
            now: environment.now()
        )
        if isNew { wakeRequests.signal() }
    }

    /// Returns a feed to its own polling interval.
    func pollAsUsual(_ subscription: WebSubSubscription) throws {
        guard let record = try store.feed(subscription.feed), let source = feeds[record.url]?.source else { return }
        let interval = max((source.interval ?? .standard).duration, record.pace.interval ?? .zero)
        try hasten(record, after: interval)
        wakePolls.signal()
    }

    func hasten(_ record: FeedRecord, after pause: Duration) throws {
        let now = environment.now()
        let due = max(now, record.lastSuccess?.addingTimeInterval(pause.inSeconds) ?? now)
        try store.reschedule(record.id, DueTime(at: due, wait: pause), isLater: false)
    }
}
