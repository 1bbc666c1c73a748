internal import Crypto
internal import FoundationEssentials
internal import GRDB

/// The subscriptions at feeds' hubs, which survive a restart.
extension PublisherStore {
    /// A subscription, and the feed it is for as its list gave it.
    struct SubscribedFeed: Sendable {
        let subscription: WebSubSubscription
        let url: String
        /// It answered that it is gone.
        let isRetired: Bool
    }

    /// All subscriptions, the wanted one of each feed and those that are being ended.
    func subscriptions() throws -> [SubscribedFeed] {
        try read { db in
            let sql = """
                SELECT websub.*, feed.url, feed.retired FROM websub JOIN feed ON feed.id = websub.feed ORDER BY websub.id
                """
            return try self.rows(db, sql).map { row in
                SubscribedFeed(
                    subscription: try Self.subscription(row),
                    url: try row.decode(forColumn: "url"),
                    isRetired: try row.decode(Int64?.self, forColumn: "retired") != nil
                )
            }
        }
    }

    /// The subscription that a feed is to have.
    func subscription(ofFeed feed: Int64) throws -> WebSubSubscription? {
        try read { db in
            try self.rows(db, "SELECT * FROM websub WHERE feed = ? AND state <> 'leaving'", [feed]).first
                .map(Self.subscription)
        }
    }

    /// The subscription whose callback ends in this path.
    ///
    /// Found by a hash: how long the search takes tells nothing of paths that there are.
    func subscription(path: String) throws -> WebSubSubscription? {
        try read { db in
            try self.rows(db, "SELECT * FROM websub WHERE path_hash = ?", [Self.hash(path)]).first
                .map(Self.subscription)
        }
    }

    /// Makes a feed's subscription be one to this offer; one to another is to be ended.
    ///
    /// A callback is `base` and `path`, which is unguessable.
    ///
    /// - Returns: Whether something is to be asked of a hub because of it.
    func subscribe(
        _ feed: Int64,
        to offer: PushOffer?,
        base: String,
        path: String,
        secret: String?,
        now: Date
    ) throws -> Bool {
        try write { db in
            let known = try self.rows(db, "SELECT * FROM websub WHERE feed = ? AND state <> 'leaving'", [feed]).first
                .map(Self.subscription)
            if var known {
                guard known.yields(to: offer, base: base, now: now) else { return false }
                known.leave(now: now)
                try self.save(db, known)
            }
            guard let offer else { return known != nil }
            try self.run(
                db,
                """
                INSERT INTO websub (feed, hub, topic, callback, path_hash, secret, created, state, due)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', ?7)
                """,
                [feed, offer.hub, offer.topic, base + path, Self.hash(path), secret, Self.milliseconds(now)]
            )
            return true
        }
    }

    /// Changes a subscription as it stands at this moment.
    ///
    /// `change` returns whether it is over and to be forgotten.
    ///
    /// - Returns: As it stands then; `nil` when there is none any more.
    @discardableResult
    func change(
        _ id: Int64,
        _ change: (inout WebSubSubscription) throws -> Bool
    ) throws -> WebSubSubscription? {
        try write { db in
            guard
                var subscription = try self.rows(db, "SELECT * FROM websub WHERE id = ?", [id]).first
                    .map(Self.subscription)
            else { return nil }
            let before = subscription
            if try change(&subscription) {
                try self.run(db, "DELETE FROM websub WHERE id = ?", [id])
                return nil
            }
            if subscription != before { try self.save(db, subscription) }
            return subscription
        }
    }

    // MARK: Feeds that are pushed

    /// A feed's record as it stands at this moment.
    func feed(_ id: Int64) throws -> FeedRecord? {
        try read { db in try self.rows(db, "SELECT * FROM feed WHERE id = ?", [id]).first.map(Self.record) }
    }

    /// Puts a feed's next turn off, or with `nil` has it asked for at once.
    ///
    /// A turn that lies further in the wished direction stays, and one that waits for a failure to pass is not brought
    /// forward.
    func reschedule(_ feed: Int64, _ due: DueTime?, isLater: Bool) throws {
        try write { db in
            let condition = isLater ? "due < ?" : "due > ? AND failures = 0"
            try self.run(
                db,
                "UPDATE feed SET due = ?, wait = ? WHERE id = ? AND \(condition)",
                [
                    Self.milliseconds(due?.at), due?.wait.inMilliseconds, feed,
                    Self.milliseconds(due?.at) ?? Int64.min,
                ]
            )
        }
    }

    private static func hash(_ path: String) -> Data { Data(SHA256.hash(data: Array(path.utf8))) }

    private func save(_ db: Database, _ subscription: WebSubSubscription) throws {
        try run(
            db,
            """
            UPDATE websub SET state = ?, due = ?, failures = ?, lease_end = ?, last_delivery = ?, missed_since = ?,
            reason = ?, deliveries = ?, discarded = ? WHERE id = ?
            """,
            [
                subscription.state.rawValue, Self.milliseconds(subscription.due), subscription.failures,
                Self.milliseconds(subscription.leaseEnd), Self.milliseconds(subscription.lastDelivery),
                Self.milliseconds(subscription.missedSince), subscription.reason, subscription.deliveries,
                subscription.discarded, subscription.id,
            ]
        )
    }

    private static func subscription(_ row: Row) throws -> WebSubSubscription {
        var subscription = WebSubSubscription(
            id: try row.decode(forColumn: "id"),
            feed: try row.decode(forColumn: "feed"),
            hub: try row.decode(forColumn: "hub"),
            topic: try row.decode(forColumn: "topic"),
            callback: try row.decode(forColumn: "callback"),
            secret: try row.decode(forColumn: "secret"),
            created: date(try row.decode(forColumn: "created")),
            due: date(try row.decode(forColumn: "due"))
        )
        subscription.state = WebSubSubscription.State(rawValue: try row.decode(forColumn: "state")) ?? .pending
        subscription.failures = try row.decode(forColumn: "failures")
        subscription.leaseEnd = try date(row, "lease_end")
        subscription.lastDelivery = try date(row, "last_delivery")
        subscription.missedSince = try date(row, "missed_since")
        subscription.reason = try row.decode(forColumn: "reason")
        subscription.deliveries = try row.decode(forColumn: "deliveries")
        subscription.discarded = try row.decode(forColumn: "discarded")
        return subscription
    }
}
