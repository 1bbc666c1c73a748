import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension HubStore {
    /// Finds a scheduled message that is waiting or was canceled.
    package func scheduledMessage(hub: HubKey, id: MessageID) async throws -> ScheduledMessage? {
        try await read { try $0.scheduledMessage(hub: hub, id: id) }
    }

    /// The number and size of a hub's waiting messages.
    package func scheduledLoad(hub: HubKey) async throws -> ScheduledLoad {
        try await row(ScheduledQuery.load, [hub]) {
            ScheduledLoad(messages: $0["messages"], bytes: $0["bytes"], nextDue: $0["nextDue"])
        } ?? .none
    }

    /// The waiting messages of a hub, the next due first.
    package func scheduledMessages(hub: HubKey, limit: Int) async throws -> [ScheduledMessage] {
        try await rows(ScheduledQuery.waiting, [hub, limit], ScheduledMessage.init(row:))
    }
}

extension Transaction {
    /// Maximum number of canceled messages whose state a hub can still report; the oldest are deleted first.
    package static let maximumCanceled = 10_000

    package func schedule(_ record: MessageRecord, hub: HubKey, dueAt: Timestamp, at: Timestamp) throws {
        let own: Columns = ["hubID": hub, "dueAt": dueAt, "scheduledAt": at]
        try insert(into: "scheduledMessage", own, record.values)
    }

    package func scheduledMessage(hub: HubKey, id: MessageID) throws -> ScheduledMessage? {
        try db.row(ScheduledQuery.one, [hub, id.text], ScheduledMessage.init(row:))
    }

    /// The messages that are due, ordered by due time.
    package func dueMessages(hub: HubKey, at now: Timestamp, limit: Int) throws -> [ScheduledMessage] {
        try db.rows(ScheduledQuery.due, [hub, now, limit], ScheduledMessage.init(row:))
    }

    package func nextDue(hub: HubKey) throws -> Timestamp? { try db.value(ScheduledQuery.nextDue, [hub]) }

    /// Deletes the schedule of a message that has been appended to the log.
    package func forgetScheduled(_ message: ScheduledMessage) throws {
        try execute("DELETE FROM scheduledMessage WHERE messageID = ?", [message.record.messageID])
    }

    /// Cancels a message, whose body and handles are then deleted.
    package func cancel(_ message: ScheduledMessage, hub: HubKey, at: Timestamp) throws {
        let targets = try message.record.targets.map { try JSONEncoder.plain.text($0.canceled) }
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

/// Statements about scheduled messages, in one place so that a test can check their query plans.
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
