import GRDB
package import HubProtocol
package import HubRouting

extension HubStore {
    /// Finds a message that waits, or was canceled.
    package func scheduledMessage(hub: HubKey, id: MessageID) async throws -> ScheduledMessage? {
        try await pool.read { db in try Transaction(db).scheduledMessage(hub: hub, id: id) }
    }

    /// What waits in a hub.
    package func scheduledLoad(hub: HubKey) async throws -> ScheduledLoad {
        try await pool.read { db in
            let row = try Row.fetchOne(db, sql: ScheduledQuery.load, arguments: [hub])
            return ScheduledLoad(messages: row?["messages"] ?? 0, bytes: row?["bytes"] ?? 0, nextDue: row?["nextDue"])
        }
    }

    /// The messages of a hub that wait, the next one first.
    package func scheduledMessages(hub: HubKey, limit: Int) async throws -> [ScheduledMessage] {
        try await pool.read { db in
            try Row.fetchAll(db, sql: ScheduledQuery.waiting, arguments: [hub, limit]).map(ScheduledMessage.init(row:))
        }
    }
}

extension Transaction {
    /// Canceled messages of a hub that can still be asked about; the oldest go first.
    package static let maximumCanceled = 10_000

    package func schedule(_ record: MessageRecord, hub: HubKey, dueAt: Timestamp, at: Timestamp) throws {
        try execute(
            """
            INSERT INTO scheduledMessage (\(MessageRecord.columns), hubID, dueAt, scheduledAt)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            record.values + [hub, dueAt, at]
        )
    }

    package func scheduledMessage(hub: HubKey, id: MessageID) throws -> ScheduledMessage? {
        let statement = try db.cachedStatement(sql: ScheduledQuery.one)
        return try Row.fetchOne(statement, arguments: [hub, id.text]).map(ScheduledMessage.init(row:))
    }

    /// The messages whose time has come, in the order of their times.
    package func dueMessages(hub: HubKey, at now: Timestamp, limit: Int) throws -> [ScheduledMessage] {
        let statement = try db.cachedStatement(sql: ScheduledQuery.due)
        return try Row.fetchAll(statement, arguments: [hub, now, limit]).map(ScheduledMessage.init(row:))
    }

    package func nextDue(hub: HubKey) throws -> Timestamp? {
        try Timestamp.fetchOne(try db.cachedStatement(sql: ScheduledQuery.nextDue), arguments: [hub])
    }

    /// Forgets that a message was scheduled, once it is in the log.
    package func forgetScheduled(_ message: ScheduledMessage) throws {
        try execute("DELETE FROM scheduledMessage WHERE messageID = ?", [message.record.messageID])
    }

    /// Takes a message back; of a canceled one neither body nor handles are kept.
    package func cancel(_ message: ScheduledMessage, hub: HubKey, at: Timestamp) throws {
        let targets = try message.record.targets.map { try MessageRecord.text($0.canceled) }
        try execute(
            "UPDATE scheduledMessage SET canceledAt = ?, body = x'', headers = NULL, targets = ? WHERE messageID = ?",
            [at, targets, message.record.messageID]
        )
        try execute(ScheduledQuery.boundCanceled, [hub, Self.maximumCanceled])
    }

    package func dropCanceled(before cutoff: Timestamp) throws {
        try execute("DELETE FROM scheduledMessage WHERE canceledAt < ?", [cutoff])
    }
}

/// The statements of scheduled messages, apart so that a test can ask for their plans.
enum ScheduledQuery {
    private static let columns = "SELECT \(MessageRecord.columns), dueAt, scheduledAt, canceledAt FROM scheduledMessage"
    static let one = "\(columns) WHERE messageID = ?2 AND hubID = ?1"
    static let due = "\(columns) WHERE hubID = ? AND canceledAt IS NULL AND dueAt <= ? ORDER BY dueAt LIMIT ?"
    static let waiting = "\(columns) WHERE hubID = ? AND canceledAt IS NULL ORDER BY dueAt LIMIT ?"
    static let nextDue = """
        SELECT dueAt FROM scheduledMessage WHERE hubID = ? AND canceledAt IS NULL ORDER BY dueAt LIMIT 1
        """
    static let load = """
        SELECT count(*) AS messages, ifnull(sum(\(MessageRecord.rowBytes)), 0) AS bytes, min(dueAt) AS nextDue
        FROM scheduledMessage WHERE hubID = ? AND canceledAt IS NULL
        """
    static let boundCanceled = """
        DELETE FROM scheduledMessage WHERE hubID = ?1 AND canceledAt < (
            SELECT canceledAt FROM scheduledMessage WHERE hubID = ?1 AND canceledAt IS NOT NULL
            ORDER BY canceledAt DESC LIMIT 1 OFFSET ?2 - 1)
        """
}
