internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import Logging
internal import Signals
internal import Synchronization
internal import WebEdge

/// Verification requests and deliveries of hubs.
extension WebSubSubscriber {
    /// Maximum number of deliveries in progress, each up to ``FeedReader/maximumBytes``: in all, and of one
    /// subscription.
    private static let maximumDeliveries = 16
    private static let maximumDeliveriesEach = 4
    /// Pause between two polls that pings cause.
    private static let pingPause: Duration = .seconds(5)
    private static let maximumChallengeBytes = 4_096

    /// Answers a hub that verifies our request, or reports that it denies it.
    ///
    /// `path` is the last part of the callback's path.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    func answer(_ path: String, query: String) throws -> WebSubAnswer {
        guard let known = try store.subscription(path: path) else { return .unknown }
        let question = FormFields(query)
        if question["hub.mode"] == "denied" { return try deny(known, question) }
        guard let challenge = question["hub.challenge"], !challenge.isEmpty,
            challenge.utf8.count <= Self.maximumChallengeBytes
        else { return .unknown }
        var isConfirmed = false
        try store.change(known.id) { subscription in
            isConfirmed = subscription.confirms(question, now: environment.now(), random: environment.random())
            return isConfirmed && subscription.state == .leaving
        }
        wakeRequests.signal()
        return isConfirmed ? WebSubAnswer(status: 200, body: challenge) : .unknown
    }

    private func deny(_ known: WebSubSubscription, _ question: FormFields) throws -> WebSubAnswer {
        guard known.isAbout(question) else { return .unknown }
        let denied = try store.change(known.id) { subscription in
            subscription.deny(question["hub.reason"].flatMap(Self.reason), now: environment.now())
            return subscription.state == .leaving
        }
        guard let denied else { return WebSubAnswer(status: 200) }
        if let url = try store.feed(denied.feed)?.url, let source = feeds[url]?.source, known.state != .denied {
            reporter.say(
                .warning,
                "hub '\(denied.hubName)' denies the subscription to feed '\(source.address.publicText)': "
                    + "\(denied.reason ?? ""); the feed is polled"
            )
        }
        try pollAsUsual(denied)
        wakeRequests.signal()
        return WebSubAnswer(status: 200)
    }

    private static func reason(_ text: String) -> String? {
        text.isEmpty ? nil : String(text.prefix(200))
    }

    /// Processes a hub's delivery.
    ///
    /// After the answer 202, the delivery is on disk, its feed will be polled, or it was discarded because nothing
    /// proves that the hub sent it.
    ///
    /// - Parameters:
    ///   - delivery: The request.
    ///   - pass: Publishes new entries.
    ///   - body: Reads the body up to ``FeedReader/maximumBytes``, and returns `nil` if it is larger.
    /// - Returns: The reply to the hub.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``, or the reason why the body did not arrive.
    func take(
        _ delivery: WebSubDelivery,
        _ pass: PublishPass,
        body: () async throws -> [UInt8]?
    ) async throws -> WebSubAnswer {
        guard let subscription = try store.subscription(path: delivery.path) else { return .unknown }
        guard subscription.takesDeliveries else { return .ended }
        guard enter(subscription.id) else { return .busy }
        defer { leave(subscription.id) }
        guard let body = try await body() else { return .tooLarge }
        let now = environment.now()
        if let secret = subscription.secret,
            !WebSubSignature.isValid(delivery.signature, of: body, secret: secret)
        {
            try discard(subscription)
            return .done
        }
        // It may have ended while the body came.
        let current = try store.change(subscription.id) { subscription in
            if subscription.takesDeliveries { subscription.delivered(now: now) }
            return false
        }
        guard let current, current.takesDeliveries else { return .ended }
        let announced = try await announce(delivery, body, current, pass)
        logger.debug(
            "delivery taken",
            metadata: [
                "feed.id": "\(subscription.feed)", "push.hub": "\(subscription.hubName)",
                "feed.announced": "\(announced.map(String.init) ?? "left to a poll")",
            ]
        )
        return .done
    }

    /// - Returns: The number of entries announced; `nil` if the feed is polled instead.
    private func announce(
        _ delivery: WebSubDelivery,
        _ body: [UInt8],
        _ subscription: WebSubSubscription,
        _ pass: PublishPass
    ) async throws -> Int? {
        try await turns.records.pass(subscription.feed) { () -> Int? in
            // The feed's poll, for which it may have waited, can have ended the subscription.
            guard try store.subscription(path: delivery.path)?.takesDeliveries == true else { return 0 }
            guard let record = try store.feed(subscription.feed), let feed = feeds[record.url] else {
                return 0
            }
            if subscription.secret != nil, !body.isEmpty, delivery.isReadable,
                let announced = try pass.take(
                    delivered: body,
                    contentType: delivery.contentType,
                    topic: subscription.topic,
                    PublishPass.Turn(feed, try store.judges(of: feed, record), record)
                )
            {
                if announced > 0 { wakeSender.signal() }
                return announced
            }
            state.withLock { _ = $0.pinged.insert(record.id) }
            try hasten(record, after: Self.pingPause)
            wakePolls.signal()
            return nil
        }
    }

    private func discard(_ subscription: WebSubSubscription) throws {
        let after = try store.change(subscription.id) { subscription in
            subscription.discarded += 1
            return false
        }
        guard after?.discarded == 1 else { return }
        reporter.say(
            .warning,
            "a delivery in the name of hub '\(subscription.hubName)' was discarded: its signature is missing or wrong"
        )
    }

    private func enter(_ subscription: Int64) -> Bool {
        state.withLock { state in
            let own = state.deliveries[subscription, default: 0]
            guard own < Self.maximumDeliveriesEach, state.deliveries.values.reduce(0, +) < Self.maximumDeliveries
            else { return false }
            state.deliveries[subscription] = own + 1
            return true
        }
    }

    private func leave(_ subscription: Int64) {
        state.withLock { state in
            let rest = state.deliveries[subscription, default: 1] - 1
            state.deliveries[subscription] = rest > 0 ? rest : nil
        }
    }
}
