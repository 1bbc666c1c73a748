import GRDB
package import HubProtocol
package import HubRouting

extension HubStore {
    /// Deliveries on a hub's platform that have targets left, starting after a message; the oldest first, or the newest.
    package func openDeliveries(
        hub: HubKey,
        platform: Platform,
        after sequence: LogSequence = .start,
        limit: Int,
        isNewestFirst: Bool = false
    ) async throws -> [Delivery] {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: isNewestFirst ? DeliveryQuery.newest : DeliveryQuery.open)
            return try Row.fetchAll(statement, arguments: [hub, platform.folded, sequence, limit]).map { row in
                var delivery = Delivery(row: row)
                delivery.acceptedAt = row["acceptedAt"]
                return delivery
            }
        }
    }

    /// The delivery, if it has targets left; otherwise `nil`.
    package func openDelivery(_ key: DeliveryKey) async throws -> Delivery? {
        try await pool.read { db in
            let delivery = try Transaction(db).delivery(key)
            return delivery?.endedAt == nil ? delivery : nil
        }
    }

    /// Platforms of a hub that have deliveries with targets left.
    package func openPlatforms(hub: HubKey) async throws -> [Platform] {
        try await pool.read { db in
            try Platform.fetchAll(try db.cachedStatement(sql: DeliveryQuery.openPlatforms), arguments: [hub])
        }
    }

    /// Number of a hub's messages with targets left, and of these targets, by platform.
    package func pushBacklog(hub: HubKey) async throws -> [Platform: (messages: Int, targets: Int)] {
        try await pool.read { db in
            let rows = try Row.fetchAll(try db.cachedStatement(sql: DeliveryQuery.backlog), arguments: [hub])
            return Dictionary(
                rows.map {
                    ($0["platform"] as Platform, (messages: $0["messages"] as Int, targets: $0["targets"] as Int))
                }
            ) { first, _ in first }
        }
    }

    /// The next block of a delivery with targets that were never tried, after a given block, and those targets.
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

    /// Targets on a hub's platform that are due for another attempt, the oldest first.
    ///
    /// Targets due after `latest` come last: no wait is that long, so their times were set while the clock was ahead.
    package func dueRetries(
        hub: HubKey,
        platform: Platform,
        at now: Timestamp,
        latest: Timestamp,
        limit: Int
    ) async throws -> [DeliveryRetry] {
        try await pool.read { db in
            var retries = try Row.fetchAll(
                try db.cachedStatement(sql: DeliveryQuery.due),
                arguments: [hub, platform.folded, now, limit]
            )
            if retries.count < limit {
                let statement = try db.cachedStatement(sql: DeliveryQuery.dueAfter)
                retries += try Row.fetchAll(
                    statement,
                    arguments: [hub, platform.folded, latest, limit - retries.count]
                )
            }
            return retries.map(DeliveryRetry.init(row:))
        }
    }

    /// Targets on a hub's platform that wait for a host, those that are due first.
    package func retries(awaiting host: String, hub: HubKey, platform: Platform, limit: Int) async throws
        -> [DeliveryRetry]
    {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: DeliveryQuery.awaiting)
            return try Row.fetchAll(statement, arguments: [hub, platform.folded, host, limit])
                .map(DeliveryRetry.init(row:))
        }
    }

    /// Hosts that targets on a hub's platform wait for, at most `limit`.
    package func awaitedHosts(hub: HubKey, platform: Platform, limit: Int) async throws -> [String] {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: DeliveryQuery.nextHost)
            var hosts: [String] = []
            while hosts.count < limit,
                let next = try String.fetchOne(statement, arguments: [hub, platform.folded, hosts.last ?? ""])
            {
                hosts.append(next)
            }
            return hosts
        }
    }

    /// The time of the next attempt on a hub's platform after a given time; `nil` if there is none.
    package func nextRetry(hub: HubKey, platform: Platform, after time: Timestamp) async throws -> Timestamp? {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: DeliveryQuery.nextDue)
            return try Timestamp.fetchOne(statement, arguments: [hub, platform.folded, time])
        }
    }

    /// The progress of a message on each platform that it is delivered to.
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

    /// The state of a message at one target; `nil` if the message is not delivered on the platform.
    package func targetState(of ordinal: Ordinal, in key: DeliveryKey) async throws -> TargetState? {
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

    /// The registrations that a delivery needs, each with the registrations of lower ordinals that have the same
    /// handle.
    ///
    /// At most `limit` of those are read for each registration.
    package func pushTargets(_ ordinals: [Ordinal], earlier limit: Int) async throws
        -> [(stored: StoredRegistration, earlier: [StoredRegistration])]
    {
        try await pool.read { db in
            let transaction = Transaction(db)
            let texts = RegistrationTexts()
            let targets = try db.cachedStatement(sql: RegistrationQuery.pushTargets)
            let earlier = try db.cachedStatement(sql: DeliveryQuery.earlierOfHandle)
            let rows = try Row.fetchCursor(targets, arguments: [ordinals.json])
            var found: [(stored: StoredRegistration, earlier: [StoredRegistration])] = []
            found.reserveCapacity(ordinals.count)
            while let row = try rows.next() {
                guard let stored = StoredRegistration(row: row, texts: texts), stored.isReadable else { continue }
                guard row[RegistrationQuery.Column.isFollowing] else {
                    found.append((stored, []))
                    continue
                }
                let others = try Ordinal.fetchAll(earlier, arguments: [stored.ordinal, limit])
                found.append((stored, try transaction.registrations(ordinals: others)))
            }
            return found
        }
    }

    /// A message with the time at which the hub accepted it; `nil` if it is not in the log.
    package func acceptedMessage(sequence: LogSequence) async throws -> AcceptedMessage? {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: LookupQuery.messageOfSequence)
            return try Row.fetchOne(statement, arguments: [sequence]).map(AcceptedMessage.init(row:))
        }
    }
}
