internal import FeedLists
internal import FoundationEssentials
internal import Logging
internal import OutboundHTTP
internal import Signals
internal import Synchronization

/// Maintains subscriptions at the hubs of listed feeds, and processes their deliveries.
///
/// Nothing depends on a hub's reliability: entries that it does not deliver are polled, and its deliveries are judged
/// like polled documents.
///
/// Source: WebSub (W3C Recommendation); feeds.md §10.
final class WebSubSubscriber: Sendable {
    /// Maximum number of requests to hubs at the same time.
    private static let concurrentRequests = 8

    struct State {
        /// Numbers of deliveries in progress, by subscription.
        var deliveries: [Int64: Int] = [:]
        /// Feeds to poll because their hub sent a ping.
        var pinged: Set<Int64> = []
    }

    /// The address before the path; ends with a slash.
    let base: String
    let feeds: ListedFeeds
    /// The pass that the publisher repeats.
    private let pass: PublishPass
    let client: WebSubClient
    /// True if a secret may be sent to hubs without TLS; for tests, whose hub is on this machine.
    let trustsPlainHubs: Bool
    let turns: FeedTurns
    let wakePolls: AsyncSignal
    let wakeSender: AsyncSignal
    let wakeRequests = AsyncSignal()
    let state = Mutex(State())

    init(
        base: String,
        feeds: ListedFeeds,
        pass: PublishPass,
        hubs: AddressPolicy,
        turns: FeedTurns,
        wakePolls: AsyncSignal,
        wakeSender: AsyncSignal
    ) {
        self.base = base.hasSuffix("/") ? base : base + "/"
        self.feeds = feeds
        self.pass = pass
        client = WebSubClient(http: pass.fetcher.http, addresses: hubs, now: pass.environment.now)
        trustsPlainHubs = hubs == .any
        self.turns = turns
        self.wakePolls = wakePolls
        self.wakeSender = wakeSender
    }

    var store: PublisherStore { pass.store }
    var environment: PublishEnvironment { pass.environment }
    var reporter: PublishReporter { pass.reporter }
    var logger: Logger { pass.logger }

    // MARK: Requests

    /// Returns all feeds to polling after a start: deliveries while the publisher was not running are lost.
    func catchUp() throws {
        for subscribed in try store.subscriptions() { try pollAsUsual(subscribed.subscription) }
    }

    /// Sends the requests that are due: for new subscriptions, renewals, and ends of unwanted subscriptions.
    ///
    /// - Returns: The time of the next one.
    func maintain() async throws -> Date? {
        var due: [WebSubSubscription] = []
        var next: Date?
        for subscribed in try store.subscriptions() {
            let isWanted =
                feeds[subscribed.url] != nil && !subscribed.isRetired
                && subscribed.subscription.callback.hasPrefix(base)
            let now = environment.now()
            let before = subscribed.subscription
            let after = try store.change(before.id) { subscription in
                if !isWanted { subscription.leave(now: now) }
                subscription.lapse(now: now)
                return subscription.hasEnded(at: now)
            }
            guard let after else { continue }
            if before.state == .active, after.state != .active { try pollAsUsual(after) }
            if after.due <= now {
                due.append(after)
            } else {
                next = [next, after.due, after.state == .active ? after.leaseEnd : nil].compactMap(\.self).min()
            }
        }
        var rest = due[...]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.concurrentRequests {
                guard let subscription = rest.popFirst() else { break }
                group.addTask { try await self.ask(subscription) }
            }
            while try await group.next() != nil, !Task.isCancelled {
                if let subscription = rest.popFirst() { group.addTask { try await self.ask(subscription) } }
            }
        }
        return due.isEmpty ? next : environment.now()
    }

    private func ask(_ subscription: WebSubSubscription) async throws {
        // Before the request, because the hub may verify it before it answers. While it waited for other requests, the
        // hub may have denied it, or verified it.
        var isDue = false
        let asked = try store.change(subscription.id) { subscription in
            let now = environment.now()
            isDue = subscription.due <= now
            if isDue { subscription.ask(now: now, random: environment.random()) }
            return false
        }
        guard let asked, isDue else { return }
        let answer = await client.ask(asked.hub, asked.request)
        logger.debug(
            "hub asked",
            metadata: [
                "feed.id": "\(asked.feed)", "push.hub": "\(asked.hubName)", "push.state": "\(asked.state.rawValue)",
                "push.outcome": "\(answer)",
            ]
        )
        guard case .refused(let reason, let retryAfter) = answer else { return }
        try store.change(asked.id) { subscription in
            // A hub may confirm or deny the request before it answers with an error.
            guard subscription.state == asked.state, subscription.failures == asked.failures else { return false }
            subscription.fail(reason, retryAfter: retryAfter, now: environment.now())
            return false
        }
    }
}

extension WebSubSubscription {
    /// The hub's host, for people.
    var hubName: String { (try? FeedAddress(parsing: hub, allowsFile: false))?.host ?? "" }
}
