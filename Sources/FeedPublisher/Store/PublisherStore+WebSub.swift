internal import Crypto
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// Subscriptions at feeds' hubs, which survive a restart.
extension PublisherStore {
    /// A subscription, and its feed as listed.
    struct SubscribedFeed: Sendable {
        let subscription: WebSubSubscription
        let url: String
        /// True if the feed reported that it is gone.
        let isRetired: Bool
    }

    /// Returns all subscriptions: the wanted one of each feed, and those that are being ended.
    func subscriptions() throws -> [SubscribedFeed] {
        try read { store in
            let sql = """
                SELECT websub.*, feed.url, feed.retired FROM websub JOIN feed ON feed.id = websub.feed ORDER BY websub.id
                """
            return try store.rows(sql).map { row in
                SubscribedFeed(
                    subscription: try WebSubSubscription(row),
                    url: try row.decode(forColumn: "url"),
                    isRetired: try row.decode(Int64?.self, forColumn: "retired") != nil
                )
            }
        }
    }

    /// Returns the wanted subscription of a feed.
    func subscription(ofFeed feed: Int64) throws -> WebSubSubscription? {
        try read { try $0.subscription(ofFeed: feed) }
    }

    /// Returns the subscription whose callback ends in a path.
    ///
    /// The lookup uses a hash, so that its duration discloses nothing about existing paths.
    func subscription(path: String) throws -> WebSubSubscription? {
        try read { try $0.subscription("pathHash = ?", Self.hash(path)) }
    }

    /// Subscribes a feed to an offer, and ends its subscription to another offer.
    ///
    /// The callback is `base` followed by `path`, which must be unguessable.
    ///
    /// - Returns: True if a hub must be called.
    func subscribe(
        _ feed: Int64,
        to offer: PushOffer?,
        base: String,
        path: String,
        secret: String?,
        now: Date
    ) throws -> Bool {
        try transaction { store in
            let known = try store.subscription(ofFeed: feed)
            if var known {
                guard known.yields(to: offer, base: base, now: now) else { return false }
                known.leave(now: now)
                try store.save(known)
            }
            guard let offer else { return known != nil }
            try store.run(
                """
                INSERT INTO websub (feed, hub, topic, callback, pathHash, secret, created, state, due)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', ?7)
                """,
                [feed, offer.hub, offer.topic, base + path, Self.hash(path), secret, now.timestamp]
            )
            return true
        }
    }

    /// Changes the current state of a subscription.
    ///
    /// `change` returns true if the subscription has ended and must be deleted.
    ///
    /// - Returns: The new state; `nil` if the subscription no longer exists.
    @discardableResult
    func change(
        _ id: Int64,
        _ change: (inout WebSubSubscription) throws -> Bool
    ) throws -> WebSubSubscription? {
        try transaction { store in
            guard var subscription = try store.subscription("id = ?", id) else { return nil }
            let before = subscription
            if try change(&subscription) {
                try store.run("DELETE FROM websub WHERE id = ?", [id])
                return nil
            }
            if subscription != before { try store.save(subscription) }
            return subscription
        }
    }

    private static func hash(_ path: String) -> Data { Data(SHA256.hash(data: Array(path.utf8))) }
}

extension StoreTransaction {
    /// Returns the wanted subscription of a feed.
    func subscription(ofFeed feed: Int64) throws -> WebSubSubscription? {
        try subscription("feed = ? AND state <> 'leaving'", feed)
    }

    fileprivate func subscription(
        _ condition: String,
        _ value: any DatabaseValueConvertible
    ) throws -> WebSubSubscription? {
        try rows("SELECT * FROM websub WHERE \(condition)", [value]).first.map(WebSubSubscription.init)
    }

    fileprivate func save(_ subscription: WebSubSubscription) throws {
        try run(
            """
            UPDATE websub SET state = ?, due = ?, failures = ?, leaseEnd = ?, lastDelivery = ?, missedSince = ?,
            reason = ?, deliveries = ?, discarded = ? WHERE id = ?
            """,
            [
                subscription.state.rawValue, subscription.due.timestamp, subscription.failures,
                subscription.leaseEnd?.timestamp, subscription.lastDelivery?.timestamp,
                subscription.missedSince?.timestamp, subscription.reason, subscription.deliveries,
                subscription.discarded, subscription.id,
            ]
        )
    }
}

extension WebSubSubscription {
    fileprivate init(_ row: Row) throws {
        self.init(
            id: try row.decode(forColumn: "id"),
            feed: try row.decode(forColumn: "feed"),
            hub: try row.decode(forColumn: "hub"),
            topic: try row.decode(forColumn: "topic"),
            callback: try row.decode(forColumn: "callback"),
            secret: try row.decode(forColumn: "secret"),
            created: try row.decode(Timestamp.self, forColumn: "created").date,
            due: try row.decode(Timestamp.self, forColumn: "due").date
        )
        state = State(rawValue: try row.decode(forColumn: "state")) ?? .pending
        failures = try row.decode(forColumn: "failures")
        leaseEnd = try row.date("leaseEnd")
        lastDelivery = try row.date("lastDelivery")
        missedSince = try row.date("missedSince")
        reason = try row.decode(forColumn: "reason")
        deliveries = try row.decode(forColumn: "deliveries")
        discarded = try row.decode(forColumn: "discarded")
    }
}
