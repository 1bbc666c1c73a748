import GRDB
package import HubProtocol
package import HubRouting

extension HubStore {
    /// Deliveries of a hub's platform with targets left, from behind a message on.
    package func openDeliveries(
        hub: HubKey,
        platform: String,
        after sequence: LogSequence = .start,
        limit: Int
    ) async throws -> [Delivery] {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: DeliveryQuery.open)
            return try Row.fetchAll(statement, arguments: [hub, platform, sequence, limit]).map { row in
                var delivery = Delivery(row: row)
                delivery.acceptedAt = row["acceptedAt"]
                return delivery
            }
        }
    }

    /// A delivery with targets left; `nil` if it has none.
    package func openDelivery(_ key: DeliveryKey) async throws -> Delivery? {
        try await pool.read { db in
            let delivery = try Transaction(db).delivery(key)
            return delivery?.endedAt == nil ? delivery : nil
        }
    }

    /// Platforms of a hub with deliveries that have targets left.
    package func openPlatforms(hub: HubKey) async throws -> [String] {
        try await pool.read { db in
            try String.fetchAll(try db.cachedStatement(sql: DeliveryQuery.openPlatforms), arguments: [hub])
        }
    }

    /// Messages of a hub with targets left, and these targets, by platform.
    package func pushBacklog(hub: HubKey) async throws -> [String: (messages: Int, targets: Int)] {
        try await pool.read { db in
            let rows = try Row.fetchAll(try db.cachedStatement(sql: DeliveryQuery.backlog), arguments: [hub])
            return Dictionary(
                rows.map {
                    ($0["platform"] as String, (messages: $0["messages"] as Int, targets: $0["targets"] as Int))
                }
            ) { first, _ in first }
        }
    }

    /// The next block of a delivery that has targets which were never tried, behind a block, with those targets.
    package func untried(
        of key: DeliveryKey,
        afterBlock block: Int64
    ) async throws -> (block: Int64, targets: OrdinalSet)? {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: DeliveryQuery.nextBlock)
            var last = block
            while let row = try Row.fetchOne(statement, arguments: [key.sequence, key.platform, last]) {
                last = row["block"]
                guard let block = DeliveryBlock(row: row) else { continue }
                let range: StatementArguments = [key.sequence, key.platform, last << 16, last << 16 | 0xFFFF]
                let retrying = try Ordinal.fetchAll(
                    try db.cachedStatement(sql: DeliveryQuery.retrying),
                    arguments: range
                )
                let left = block.targets.subtracting(block.done).subtracting(OrdinalSet(retrying))
                if !left.isEmpty { return (last, left) }
            }
            return nil
        }
    }

    /// Targets of a hub's platform whose time to be tried again has come, the oldest first.
    ///
    /// Those that are due after `latest` follow: no wait is so long, so a clock that was ahead has set their times.
    package func dueRetries(
        hub: HubKey,
        platform: String,
        at now: Timestamp,
        latest: Timestamp,
        limit: Int
    ) async throws -> [DeliveryRetry] {
        try await pool.read { db in
            var retries = try Row.fetchAll(
                try db.cachedStatement(sql: DeliveryQuery.due),
                arguments: [hub, platform, now, limit]
            )
            if retries.count < limit {
                let statement = try db.cachedStatement(sql: DeliveryQuery.dueAfter)
                retries += try Row.fetchAll(statement, arguments: [hub, platform, latest, limit - retries.count])
            }
            return retries.map(DeliveryRetry.init(row:))
        }
    }

    /// When the next target of a hub's platform is to be tried again after a time; `nil` for none.
    package func nextRetry(hub: HubKey, platform: String, after time: Timestamp) async throws -> Timestamp? {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: DeliveryQuery.nextDue)
            return try Timestamp.fetchOne(statement, arguments: [hub, platform, time])
        }
    }

    /// How far a message is, on each platform that it is delivered to.
    package func deliveryStates(of sequence: LogSequence) async throws -> [DeliveryState] {
        try await pool.read { db in
            let deliveries = try Row.fetchAll(
                try db.cachedStatement(sql: DeliveryQuery.ofMessage),
                arguments: [sequence]
            ).map(Delivery.init(row:))
            return try deliveries.map { delivery in
                let key: StatementArguments = [delivery.key.sequence, delivery.key.platform]
                let rows = try Row.fetchAll(try db.cachedStatement(sql: DeliveryQuery.outcomes), arguments: key)
                let retries = try Int.fetchOne(
                    try db.cachedStatement(sql: DeliveryQuery.retryCount),
                    arguments: key
                )
                return DeliveryState(
                    delivery: delivery,
                    outcomes: rows.reduce(into: [:]) { $0[OutcomeName(rawValue: $1["outcome"])] = $1["count"] },
                    retries: retries ?? 0
                )
            }
        }
    }

    /// What has become of a message at one target; `nil` for a message that is not delivered on the platform.
    package func standing(of ordinal: Ordinal, in key: DeliveryKey) async throws -> TargetStanding? {
        try await pool.read { db in
            let transaction = Transaction(db)
            guard let delivery = try transaction.delivery(key) else { return nil }
            let arguments: StatementArguments = [key.sequence, key.platform, ordinal]
            let failure = try Row.fetchOne(try db.cachedStatement(sql: DeliveryQuery.failure), arguments: arguments)
            if let failure { return .failed(DeliveryFailure(row: failure)) }
            if let retry = try Row.fetchOne(try db.cachedStatement(sql: DeliveryQuery.retry), arguments: arguments) {
                return .waits(DeliveryRetry(row: retry))
            }
            guard let block = try transaction.block(ordinal.block, of: key), !block.done.contains(ordinal) else {
                return .ended
            }
            guard let outcome = delivery.endedAs else { return .waits(nil) }
            return .failed(DeliveryFailure(ordinal: ordinal, outcome: outcome, reason: delivery.endReason))
        }
    }

    /// Registrations as a delivery finds them, each with those of lower ordinals that have the same handle.
    ///
    /// `limit` is the most of those that are looked at for each.
    package func pushTargets(_ ordinals: [Ordinal], earlier limit: Int) async throws
        -> [(stored: StoredRegistration, earlier: [StoredRegistration])]
    {
        try await pool.read { db in
            let transaction = Transaction(db)
            let following = try db.cachedStatement(sql: DeliveryQuery.followingOfHandle)
            let notFirst = try Ordinal.fetchSet(following, arguments: [ordinals.json])
            let statement = try db.cachedStatement(sql: DeliveryQuery.earlierOfHandle)
            return try transaction.registrations(ordinals: ordinals).map { stored in
                guard notFirst.contains(stored.ordinal) else { return (stored, []) }
                let earlier = try Ordinal.fetchAll(statement, arguments: [stored.ordinal, limit])
                return (stored, try transaction.registrations(ordinals: earlier))
            }
        }
    }

    /// A message with the time when the hub took it; `nil` for one that is not in the log.
    package func acceptedMessage(sequence: LogSequence) async throws -> AcceptedMessage? {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: Inquiry.messageOfSequence)
            return try Row.fetchOne(statement, arguments: [sequence]).map(AcceptedMessage.init(row:))
        }
    }
}
