import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension HubStore {
    /// Deliveries on a hub's platform that have targets left, starting after a message; the oldest first, or the newest.
    package func openDeliveries(
        hub: HubKey,
        platform: Platform,
        after sequence: LogSequence = .start,
        limit: Int,
        isNewestFirst: Bool = false
    ) async throws -> [Delivery] {
        let sql = isNewestFirst ? DeliveryQuery.newest : DeliveryQuery.open
        return try await rows(sql, [hub, platform.folded, sequence, limit], Delivery.init(row:))
    }

    /// The delivery, if it has targets left; otherwise `nil`.
    package func openDelivery(_ key: DeliveryKey) async throws -> Delivery? {
        try await read { try $0.delivery(key) }.flatMap { $0.endedAt == nil ? $0 : nil }
    }

    /// Platforms of a hub that have deliveries with targets left.
    package func openPlatforms(hub: HubKey) async throws -> [Platform] {
        try await rows(DeliveryQuery.openPlatforms, [hub]) { $0[0] }
    }

    /// Number of a hub's messages with targets left, and of these targets, by platform.
    package func pushBacklog(hub: HubKey) async throws -> [Platform: (messages: Int, targets: Int)] {
        let rows: [(Platform, (messages: Int, targets: Int))] = try await rows(DeliveryQuery.backlog, [hub]) {
            ($0["platform"], ($0["messages"], $0["targets"]))
        }
        return Dictionary(rows) { first, _ in first }
    }

    /// The next block of a delivery with targets that were never tried, after a given block, and those targets.
    package func untried(
        of key: DeliveryKey,
        afterBlock block: Int64
    ) async throws -> (block: Int64, targets: OrdinalSet)? {
        try await read { transaction in
            var last = block
            while let next = try transaction.nextBlock(of: key, after: last) {
                last = next.number
                guard let block = next.block else { continue }
                let range: StatementArguments = [key.sequence, key.platform, last << 16, last << 16 | 0xFFFF]
                let retrying: [Ordinal] = try transaction.db.values(DeliveryQuery.retrying, range)
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
        try await snapshot { db in
            func retries(_ sql: String, _ time: Timestamp, _ limit: Int) throws -> [DeliveryRetry] {
                try db.rows(sql, [hub, platform.folded, time, limit], DeliveryRetry.init(row:))
            }
            let due = try retries(DeliveryQuery.due, now, limit)
            return try due.count < limit ? due + retries(DeliveryQuery.dueAfter, latest, limit - due.count) : due
        }
    }

    /// Targets on a hub's platform that wait for a host, those that are due first.
    package func retries(awaiting host: String, hub: HubKey, platform: Platform, limit: Int) async throws
        -> [DeliveryRetry]
    {
        try await rows(DeliveryQuery.awaiting, [hub, platform.folded, host, limit], DeliveryRetry.init(row:))
    }

    /// Hosts that targets on a hub's platform wait for, at most `limit`.
    package func awaitedHosts(hub: HubKey, platform: Platform, limit: Int) async throws -> [String] {
        try await snapshot { db in
            var hosts: [String] = []
            while hosts.count < limit,
                let next: String = try db.value(DeliveryQuery.nextHost, [hub, platform.folded, hosts.last ?? ""])
            {
                hosts.append(next)
            }
            return hosts
        }
    }

    /// The time of the next attempt on a hub's platform after a given time; `nil` if there is none.
    package func nextRetry(hub: HubKey, platform: Platform, after time: Timestamp) async throws -> Timestamp? {
        try await value(DeliveryQuery.nextDue, [hub, platform.folded, time])
    }

    /// The progress of a message on each platform that it is delivered to.
    package func deliveryStates(of sequence: LogSequence) async throws -> [DeliveryState] {
        try await snapshot { db in
            try db.rows(DeliveryQuery.ofMessage, [sequence], Delivery.init(row:)).map { delivery in
                let key: StatementArguments = [delivery.key.sequence, delivery.key.platform]
                let outcomes = try db.rows(DeliveryQuery.outcomes, key) { row in
                    (OutcomeName(rawValue: row["outcome"]), row["count"] as Int)
                }
                return DeliveryState(
                    delivery: delivery,
                    outcomes: Dictionary(outcomes, uniquingKeysWith: +),
                    retries: try db.value(DeliveryQuery.retryCount, key) ?? 0
                )
            }
        }
    }

    /// The state of a message at one target; `nil` if the message is not delivered on the platform.
    package func targetState(of ordinal: Ordinal, in key: DeliveryKey) async throws -> TargetState? {
        try await read { transaction in
            let db = transaction.db
            guard let delivery = try transaction.delivery(key) else { return nil }
            let arguments: StatementArguments = [key.sequence, key.platform, ordinal]
            let failure = try db.row(DeliveryQuery.failure, arguments, DeliveryFailure.init(row:))
            if let failure { return .failed(failure) }
            if let retry = try db.row(DeliveryQuery.retry, arguments, DeliveryRetry.init(row:)) { return .waits(retry) }
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
        try await read { transaction in
            let (db, texts) = (transaction.db, RegistrationTexts())
            let rows = try db.rows(RegistrationQuery.pushTargets, [ordinals.json]) { row in
                (StoredRegistration(row: row, texts: texts), row[RegistrationQuery.Column.isFollowing] as Bool)
            }
            return try rows.compactMap { stored, isFollowing in
                guard let stored, stored.isReadable else { return nil }
                guard isFollowing else { return (stored, []) }
                let others: [Ordinal] = try db.values(DeliveryQuery.earlierOfHandle, [stored.ordinal, limit])
                return (stored, try transaction.registrations(ordinals: others))
            }
        }
    }

    /// A message with the time at which the hub accepted it; `nil` if it is not in the log.
    package func acceptedMessage(sequence: LogSequence) async throws -> AcceptedMessage? {
        try await row(LookupQuery.messageOfSequence, [sequence], AcceptedMessage.init(row:))
    }
}
