import GRDB
package import HubProtocol
import HubRouting
import SQLiteFiles

// MARK: - Dropping the oldest of the log

extension Transaction {
    /// Maximum number of failures and retries that one transaction drops, which takes the writer about 50 ms.
    package static let maximumDroppedTargets = 10_000

    /// Drops at most `limit` of the oldest rows of the log, and the rows that only they need.
    ///
    /// Rows from before `cutoff` have expired; `cutoff` is `nil` while the clock cannot be trusted. Rows are also dropped
    /// while messages take more than `maximumBytes`. A message with more than `targets` failures and retries loses these
    /// first, some at a time, and is dropped in a later call.
    package func dropOldest(
        expiredBefore cutoff: Timestamp?,
        maximumBytes: Int64,
        limit: Int,
        targets: Int = Self.maximumDroppedTargets
    ) throws -> DroppedRows {
        var dropped = DroppedRows()
        dropped.bytesLeft = try countBytes()
        var room = targets
        var changes: [(ordinal: Ordinal, sequence: LogSequence)] = []
        for row in try Row.fetchAll(try db.cachedStatement(sql: Query.oldestRows), arguments: [limit]) {
            let (sequence, at): (LogSequence, Timestamp) = (row["sequence"], row["at"])
            let (bytes, ordinal): (Int64, Ordinal?) = (row["bytes"], row["ordinal"])
            let isExpired = cutoff.map { at < $0 } ?? false
            guard isExpired || dropped.bytesLeft > maximumBytes else { break }
            if ordinal == nil {
                let weight = try targetRows(of: sequence, atMost: room + 1)
                guard weight <= room else {
                    dropped.hasMore = true
                    if dropped.through == nil { try dropTargetRows(of: sequence, limit: room) }
                    break
                }
                room -= weight
            }
            dropped.through = sequence
            dropped.rows += 1
            dropped.bytesLeft -= bytes
            if let ordinal { changes.append((ordinal, sequence)) } else if !isExpired { dropped.bySize += 1 }
        }
        if dropped.rows == limit { dropped.hasMore = true }
        guard let through = dropped.through else { return dropped }
        try execute("DELETE FROM log WHERE sequence <= ?", [through])
        try execute("DELETE FROM loss WHERE sequence <= ?", [through])
        // A choice from before a change is useless once no message from before the change is left.
        for change in changes { try execute(Query.dropPending, [change.ordinal, change.sequence]) }
        try dropFormerRegistrations(through: through)
        try execute(
            "UPDATE retention SET throughSequence = ?, bySize = bySize + ?, countedBytes = ?",
            [through, dropped.bySize, dropped.bytesLeft]
        )
        return dropped
    }

    /// Bytes of the log's messages; adds only the rows since the last call.
    func countBytes() throws -> Int64 {
        guard let counted = try Row.fetchOne(db, sql: "SELECT countedThrough, countedBytes FROM retention") else {
            return 0
        }
        let (through, bytes): (LogSequence, Int64) = (counted["countedThrough"], counted["countedBytes"])
        let added: Int64 = try db.value(Query.bytesAfter, [through]) ?? 0
        try execute("UPDATE retention SET countedThrough = ?, countedBytes = ?", [try top(), bytes + added])
        return bytes + added
    }
}

// MARK: - Rows of targets

extension Transaction {
    /// Drops retries of a delivery that is about to end; there may be one for each target.
    ///
    /// A target without its retry would be sent the message again, so only a delivery that is about to end may lose any.
    ///
    /// - Returns: Number of dropped rows; fewer than `limit` if there are no more.
    package func dropRetries(of key: DeliveryKey, limit: Int = Self.maximumDroppedTargets) throws -> Int {
        try execute(DroppingQuery.retries, [key.sequence, key.platform, limit])
        return db.changesCount
    }

    /// Drops failures and retries of a deleted hub, of one message at a time.
    ///
    /// - Returns: False if nothing was left.
    func dropTargetRows(of hub: HubKey, limit: Int) throws -> Bool {
        if let key = try key(DroppingQuery.retried, of: hub) { return try dropRetries(of: key, limit: limit) > 0 }
        guard let key = try key(DroppingQuery.failed, of: hub) else { return false }
        try execute(DroppingQuery.failures, [key.sequence, key.platform, limit])
        try execute(DroppingQuery.discount, [key.sequence, key.platform, db.changesCount])
        return true
    }

    private func key(_ sql: String, of hub: HubKey) throws -> DeliveryKey? {
        try db.row(sql, [hub]) { DeliveryKey(sequence: $0["sequence"], platform: $0["platform"]) }
    }

    /// Number of failures and retries of a message, counted up to `limit`.
    private func targetRows(of sequence: LogSequence, atMost limit: Int) throws -> Int {
        var count = 0
        for sql in [DroppingQuery.failureCount, DroppingQuery.retryCount] where count < limit {
            count += try db.value(sql, [sequence, limit - count]) ?? 0
        }
        return count
    }

    /// Drops failures and retries of a message that is about to be dropped.
    private func dropTargetRows(of sequence: LogSequence, limit: Int) throws {
        let platforms: [String] = try db.values(DroppingQuery.platforms, [sequence])
        var room = limit
        for platform in platforms {
            for sql in [DroppingQuery.failures, DroppingQuery.retries] where room > 0 {
                try execute(sql, [sequence, platform, room])
                room -= db.changesCount
            }
        }
    }
}

/// Statements that drop rows, in one place so that a test can check their query plans.
enum DroppingQuery {
    static let failureCount = "SELECT count(*) FROM (SELECT 1 FROM deliveryFailure WHERE sequence = ? LIMIT ?)"
    static let retryCount = "SELECT count(*) FROM (SELECT 1 FROM deliveryRetry WHERE sequence = ? LIMIT ?)"
    static let platforms = "SELECT platform FROM delivery WHERE sequence = ?"
    static let failures = some(of: "deliveryFailure")
    static let retries = some(of: "deliveryRetry")
    static let retried = "SELECT sequence, platform FROM deliveryRetry WHERE hubID = ? LIMIT 1"
    static let failed = "SELECT sequence, platform FROM delivery WHERE hubID = ? AND failures > 0 LIMIT 1"
    /// The count of a delivery without a row left becomes 0.
    static let discount = """
        UPDATE delivery SET failures = CASE ?3 WHEN 0 THEN 0 ELSE max(0, failures - ?3) END
        WHERE sequence = ?1 AND platform = ?2
        """

    private static func some(of table: String) -> String {
        """
        DELETE FROM \(table) WHERE sequence = ?1 AND platform = ?2 AND ordinal IN (
            SELECT ordinal FROM \(table) WHERE sequence = ?1 AND platform = ?2 ORDER BY ordinal LIMIT ?3)
        """
    }
}
