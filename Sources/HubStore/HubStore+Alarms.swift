import GRDB
package import HubProtocol
package import HubRouting

extension Transaction {
    /// Replaces the stored state of a hub's alarms.
    package func setAlarmState(_ state: String, hub: HubKey) throws {
        try execute(AlarmQuery.put, [hub, state])
    }

    /// The stored state of a hub's alarms.
    package func alarmState(hub: HubKey) throws -> String? {
        try String.fetchOne(try db.cachedStatement(sql: AlarmQuery.one), arguments: [hub])
    }
}

/// The tag expression of a message, from which its categories are derived.
package struct TaggedMessage: Sendable, Equatable {
    package let sequence: LogSequence
    /// `nil` for a broadcast and for a direct send.
    package let tags: String?
}

extension HubStore {
    /// The stored state of each hub's alarms.
    package func alarmStates() async throws -> [HubKey: String] {
        try await pool.read { db in
            let rows = try Row.fetchAll(db, sql: AlarmQuery.all)
            return Dictionary(uniqueKeysWithValues: rows.map { ($0["hubID"], $0["state"]) })
        }
    }

    /// The stored state of a hub's alarms.
    package func alarmState(hub: HubKey) async throws -> String? {
        try await pool.read { db in try Transaction(db).alarmState(hub: hub) }
    }

    /// The first messages of a hub after a sequence, in log order.
    package func tags(hub: HubKey, after: LogSequence, limit: Int) async throws -> [TaggedMessage] {
        try await pool.read { db in
            let rows = try Row.fetchCursor(
                try db.cachedStatement(sql: AlarmQuery.tags),
                arguments: [hub, after, limit]
            )
            var messages: [TaggedMessage] = []
            while let row = try rows.next() { messages.append(TaggedMessage(sequence: row[0], tags: row[1])) }
            return messages
        }
    }
}

/// Statements about alarms, in one place so that a test can check their query plans.
enum AlarmQuery {
    static let put = "INSERT OR REPLACE INTO alarmState VALUES (?, ?)"
    static let all = "SELECT hubID, state FROM alarmState"
    static let one = "SELECT state FROM alarmState WHERE hubID = ?"
    static let tags = """
        SELECT sequence, tags FROM log WHERE hubID = ? AND sequence > ? AND messageID IS NOT NULL
        ORDER BY sequence LIMIT ?
        """
}
