import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension Transaction {
    /// Maximum number of failed targets of one delivery whose reasons are stored.
    package static let maximumFailures = 100_000
    /// Maximum number of stored failures of a hub: devices that fail again and again must not fill the disk.
    package static let maximumFailuresOfHub = 1_000_000

    /// Stores the targets of a message on one platform, together with the message.
    package func insertDelivery(
        _ key: DeliveryKey,
        hub: HubKey,
        targets: OrdinalSet,
        isDirect: Bool = false,
        audience: String? = nil
    ) throws {
        let count = targets.count
        try insert(
            into: "delivery",
            [
                "sequence": key.sequence, "platform": key.platform, "hubID": hub, "isDirect": isDirect,
                "audience": audience, "total": count, "remaining": count,
            ]
        )
        for (block, bytes) in targets.stored {
            try execute(
                "INSERT INTO deliveryBlock (sequence, platform, block, targets, done) VALUES (?, ?, ?, ?, x'')",
                [key.sequence, key.platform, block, Data(bytes)]
            )
        }
    }

    /// Stores the progress of targets, except for progress that is already stored: a repeated call changes nothing.
    ///
    /// - Returns: Number of targets that this call gave a final outcome, including those collapsed by other messages.
    @discardableResult
    package func record(_ progress: DeliveryProgress, of key: DeliveryKey, hub: HubKey, at: Timestamp) throws -> Int {
        guard let delivery = try delivery(key), delivery.endedAt == nil else { return 0 }
        let finished = try markDone(progress.done.keys.sorted(), of: key)
        var counts: [OutcomeName: Int] = [:]
        for (ordinal, outcome) in progress.done where finished.contains(ordinal) {
            counts[outcome, default: 0] += 1
        }
        // Most messages have none.
        if try db.value(DeliveryQuery.aRetry, [key.sequence, key.platform]) as Int? != nil {
            try execute(DeliveryQuery.dropRetries, [key.sequence, key.platform, progress.done.keys.json])
        }
        for (outcome, count) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            try execute(DeliveryQuery.addOutcome, [key.sequence, key.platform, outcome.rawValue, count])
        }
        try keep(progress.failures.filter { finished.contains($0.ordinal) }, of: key, hub: hub, at: at)
        let ended = try ended(progress.retries.map(\.ordinal), of: key)
        for retry in progress.retries where !ended.contains(retry.ordinal) {
            try execute(
                "INSERT OR REPLACE INTO deliveryRetry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    key.sequence, key.platform, retry.ordinal, hub, retry.attempts, retry.dueAt, retry.reason,
                    retry.collapseKey, retry.host,
                ]
            )
        }
        try execute(DeliveryQuery.advance, [key.sequence, key.platform, finished.count, at])
        try endIfDone(key)
        return finished.count + (try collapse(progress.collapsed, by: key, hub: hub, at: at))
    }

    /// Gives all remaining targets one outcome, for example when the message has expired.
    ///
    /// `reason` is `nil` if the outcome alone explains it.
    ///
    /// - Returns: Number of those targets.
    @discardableResult
    package func end(_ key: DeliveryKey, as outcome: OutcomeName, reason: String? = nil, at: Timestamp) throws -> Int {
        guard let delivery = try delivery(key), delivery.endedAt == nil else { return 0 }
        if delivery.remaining > 0 {
            try execute(DeliveryQuery.addOutcome, [key.sequence, key.platform, outcome.rawValue, delivery.remaining])
        }
        try execute(
            """
            UPDATE delivery SET remaining = 0, endedAt = ?, endedAs = ?, endReason = ?
            WHERE sequence = ? AND platform = ?
            """,
            [at, outcome.rawValue, reason, key.sequence, key.platform]
        )
        try execute("DELETE FROM deliveryRetry WHERE sequence = ? AND platform = ?", [key.sequence, key.platform])
        return delivery.remaining
    }

    package func delivery(_ key: DeliveryKey) throws -> Delivery? {
        try db.row(DeliveryQuery.one, [key.sequence, key.platform], Delivery.init(row:))
    }

    /// True for a message without targets left, and for one that is not in the log any more.
    package func hasEnded(_ key: DeliveryKey) throws -> Bool {
        guard let delivery = try delivery(key) else { return true }
        return delivery.endedAt != nil
    }

    /// The given targets that have a final outcome: a later message may have made this one obsolete in the meantime.
    private func ended(_ ordinals: [Ordinal], of key: DeliveryKey) throws -> Set<Ordinal> {
        var ended: Set<Ordinal> = []
        for (number, members) in Dictionary(grouping: ordinals, by: \.block) {
            guard let block = try block(number, of: key) else {
                ended.formUnion(members)
                continue
            }
            ended.formUnion(members.filter { block.done.contains($0) })
        }
        return ended
    }

    /// Marks targets as done; `ordinals` are ascending.
    ///
    /// - Returns: The targets that had no final outcome before.
    private func markDone(_ ordinals: [Ordinal], of key: DeliveryKey) throws -> OrdinalSet {
        var finished = OrdinalSet()
        for (number, members) in Dictionary(grouping: ordinals, by: \.block).sorted(by: { $0.key < $1.key }) {
            guard let block = try block(number, of: key) else { continue }
            let new = OrdinalSet(members).intersection(block.targets).subtracting(block.done)
            guard !new.isEmpty else { continue }
            let done = block.done.union(new)
            if block.targets.subtracting(done).isEmpty {
                try execute(
                    "DELETE FROM deliveryBlock WHERE sequence = ? AND platform = ? AND block = ?",
                    [key.sequence, key.platform, number]
                )
            } else {
                try execute(
                    "UPDATE deliveryBlock SET done = ? WHERE sequence = ? AND platform = ? AND block = ?",
                    [done.stored.first.map { Data($0.bytes) } ?? Data(), key.sequence, key.platform, number]
                )
            }
            finished = finished.union(new)
        }
        return finished
    }

    /// The next block of a delivery, `nil` if it cannot be read.
    func nextBlock(of key: DeliveryKey, after number: Int64) throws -> (number: Int64, block: DeliveryBlock?)? {
        try db.row(DeliveryQuery.nextBlock, [key.sequence, key.platform, number]) {
            ($0["block"], DeliveryBlock(row: $0))
        }
    }

    func block(_ number: Int64, of key: DeliveryKey) throws -> DeliveryBlock? {
        try db.row(DeliveryQuery.block, [key.sequence, key.platform, number], DeliveryBlock.init(row:)) ?? nil
    }

    private func keep(_ failures: [DeliveryFailure], of key: DeliveryKey, hub: HubKey, at: Timestamp) throws {
        guard !failures.isEmpty else { return }
        let known: Int = try db.value(DeliveryQuery.failureCount, [key.sequence, key.platform]) ?? 0
        // Checked only once in a while: the sum reads a row for each stored message.
        if known / 1_000 != (known + failures.count) / 1_000 || known == 0 {
            let all: Int = try db.value(DeliveryQuery.allFailures, [hub]) ?? 0
            guard all < Self.maximumFailuresOfHub else { return }
        }
        let kept = failures.prefix(max(0, Self.maximumFailures - known))
        for failure in kept {
            try execute(
                "INSERT OR REPLACE INTO deliveryFailure VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    key.sequence, key.platform, failure.ordinal, failure.outcome.rawValue, failure.reason, at,
                    failure.deadHandle == nil ? nil : hub, failure.deadHandle,
                ]
            )
        }
        try execute(
            "UPDATE delivery SET failures = failures + ? WHERE sequence = ? AND platform = ?",
            [kept.count, key.sequence, key.platform]
        )
    }

    /// Ends retries of earlier messages to targets that were sent a later message with the same collapse key.
    private func collapse(
        _ collapsed: [Ordinal: String],
        by key: DeliveryKey,
        hub: HubKey,
        at: Timestamp
    ) throws -> Int {
        var superfluous: [LogSequence: DeliveryProgress] = [:]
        for (ordinal, collapseKey) in collapsed {
            let arguments: StatementArguments = [ordinal, collapseKey, key.platform, key.sequence]
            let sequences: [LogSequence] = try db.values(DeliveryQuery.collapsed, arguments)
            for sequence in sequences {
                superfluous[sequence, default: DeliveryProgress()].done[ordinal] = .skipped
                superfluous[sequence]?.failures.append(
                    DeliveryFailure(ordinal: ordinal, outcome: .skipped, reason: "a later message replaced it")
                )
            }
        }
        return try superfluous.sorted { $0.key < $1.key }.reduce(0) { count, entry in
            let key = DeliveryKey(sequence: entry.key, platform: key.platform)
            return count + (try record(entry.value, of: key, hub: hub, at: at))
        }
    }

    private func endIfDone(_ key: DeliveryKey) throws {
        guard try delivery(key)?.endedAt != nil else { return }
        try execute("DELETE FROM deliveryBlock WHERE sequence = ? AND platform = ?", [key.sequence, key.platform])
        try execute("DELETE FROM deliveryRetry WHERE sequence = ? AND platform = ?", [key.sequence, key.platform])
    }
}

/// Statements about deliveries, in one place so that a test can check their query plans.
enum DeliveryQuery {
    private static let columns = """
        sequence, platform, isDirect, audience, total, remaining, beganAt, endedAt, endedAs, endReason
        """
    static let one = "SELECT \(columns) FROM delivery WHERE sequence = ? AND platform = ?"
    static let ofMessage = "SELECT \(columns) FROM delivery WHERE sequence = ?"
    private static let openAfter = """
        SELECT \(columns), (SELECT at FROM log WHERE log.sequence = delivery.sequence) AS acceptedAt
        FROM delivery WHERE hubID = ? AND platform = ? AND sequence > ? AND endedAt IS NULL
        """
    static let open = "\(openAfter) ORDER BY sequence LIMIT ?"
    static let newest = "\(openAfter) ORDER BY sequence DESC LIMIT ?"
    static let openPlatforms = "SELECT DISTINCT platform FROM delivery WHERE hubID = ? AND endedAt IS NULL"
    static let backlog = """
        SELECT platform, count(*) AS messages, sum(remaining) AS targets FROM delivery
        WHERE hubID = ? AND endedAt IS NULL GROUP BY platform
        """
    static let block = """
        SELECT block, targets, done FROM deliveryBlock WHERE sequence = ? AND platform = ? AND block = ?
        """
    static let nextBlock = """
        SELECT block, targets, done FROM deliveryBlock WHERE sequence = ? AND platform = ? AND block > ?
        ORDER BY block LIMIT 1
        """
    static let retrying = """
        SELECT ordinal FROM deliveryRetry WHERE sequence = ? AND platform = ? AND ordinal BETWEEN ? AND ?
        """
    static let retryColumns = "sequence, platform, ordinal, attempts, dueAt, reason, collapseKey, host"
    static let due = """
        SELECT \(retryColumns) FROM deliveryRetry WHERE hubID = ? AND platform = ? AND dueAt <= ?
        ORDER BY dueAt LIMIT ?
        """
    static let dueAfter = """
        SELECT \(retryColumns) FROM deliveryRetry WHERE hubID = ? AND platform = ? AND dueAt > ?
        ORDER BY dueAt LIMIT ?
        """
    /// Retries that wait for a host.
    static let awaiting = """
        SELECT \(retryColumns) FROM deliveryRetry WHERE hubID = ? AND platform = ? AND host = ? ORDER BY dueAt LIMIT ?
        """
    static let nextHost = "SELECT min(host) FROM deliveryRetry WHERE hubID = ? AND platform = ? AND host > ?"
    static let nextDue = "SELECT min(dueAt) FROM deliveryRetry WHERE hubID = ? AND platform = ? AND dueAt > ?"
    static let aRetry = "SELECT 1 FROM deliveryRetry WHERE sequence = ? AND platform = ? LIMIT 1"
    static let dropRetries = """
        DELETE FROM deliveryRetry
        WHERE sequence = ? AND platform = ? AND ordinal IN (SELECT value FROM json_each(?))
        """
    static let addOutcome = """
        INSERT INTO deliveryOutcome VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count
        """
    static let advance = """
        UPDATE delivery SET remaining = remaining - ?3, beganAt = ifnull(beganAt, ?4),
            endedAt = CASE WHEN remaining = ?3 THEN ?4 END
        WHERE sequence = ?1 AND platform = ?2
        """
    static let failureCount = "SELECT failures FROM delivery WHERE sequence = ? AND platform = ?"
    static let allFailures = "SELECT sum(failures) FROM delivery WHERE hubID = ? AND failures > 0"
    static let collapsed = """
        SELECT sequence FROM deliveryRetry WHERE ordinal = ? AND collapseKey = ? AND platform = ? AND sequence < ?
        """
    static let outcomes = "SELECT outcome, count FROM deliveryOutcome WHERE sequence = ? AND platform = ?"
    static let retryCount = "SELECT count(*) FROM deliveryRetry WHERE sequence = ? AND platform = ?"
    static let failure = """
        SELECT ordinal, outcome, reason, handle FROM deliveryFailure
        WHERE sequence = ? AND platform = ? AND ordinal = ?
        """
    static let retry = "SELECT \(retryColumns) FROM deliveryRetry WHERE sequence = ? AND platform = ? AND ordinal = ?"
    static let failures = """
        SELECT ordinal, outcome, reason, at, handle FROM deliveryFailure
        WHERE sequence = ? AND platform = ? AND ordinal > ? ORDER BY ordinal LIMIT ?
        """
    /// Registrations with lower ordinals that have the same handle.
    static let earlierOfHandle = """
        SELECT earlier.ordinal FROM registration AS later
        JOIN registration AS earlier ON earlier.hubID = later.hubID AND earlier.handleKey = later.handleKey
        WHERE later.ordinal = ? AND earlier.ordinal < later.ordinal ORDER BY earlier.ordinal LIMIT ?
        """
}

extension Delivery {
    init(row: Row) {
        self.init(
            key: DeliveryKey(sequence: row["sequence"], platform: row["platform"]),
            isDirect: row["isDirect"],
            audience: row["audience"],
            total: row["total"],
            remaining: row["remaining"],
            beganAt: row["beganAt"],
            endedAt: row["endedAt"],
            endedAs: (row["endedAs"] as String?).map { OutcomeName(rawValue: $0) },
            ownEndReason: row["endReason"],
            acceptedAt: row["acceptedAt"]
        )
    }
}

extension DeliveryBlock {
    /// `nil` if the sets cannot be read.
    init?(row: Row) {
        let (number, targets, done): (Int64, Data, Data) = (row["block"], row["targets"], row["done"])
        guard let targets = OrdinalSet(block: number, stored: [UInt8](targets)),
            let done = OrdinalSet(block: number, stored: [UInt8](done))
        else { return nil }
        self.init(number: number, targets: targets, done: done)
    }
}

extension DeliveryRetry {
    init(row: Row) {
        self.init(
            key: DeliveryKey(sequence: row["sequence"], platform: row["platform"]),
            ordinal: row["ordinal"],
            attempts: row["attempts"],
            dueAt: row["dueAt"],
            reason: row["reason"],
            collapseKey: row["collapseKey"],
            host: row["host"]
        )
    }
}
