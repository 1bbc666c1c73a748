import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension Transaction {
    /// Replaces the stored state of a hub's alarms.
    package func setAlarmState(_ state: String, hub: HubKey) throws {
        try execute(AlarmQuery.put, [hub, state])
    }

    /// The stored state of a hub's alarms.
    package func alarmState(hub: HubKey) throws -> String? { try db.value(AlarmQuery.one, [hub]) }
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
        Dictionary(uniqueKeysWithValues: try await rows(AlarmQuery.all) { ($0["hubID"], $0["state"]) })
    }

    /// The stored state of a hub's alarms.
    package func alarmState(hub: HubKey) async throws -> String? { try await read { try $0.alarmState(hub: hub) } }

    /// The first messages of a hub after a sequence, in log order.
    package func tags(hub: HubKey, after: LogSequence, limit: Int) async throws -> [TaggedMessage] {
        try await rows(AlarmQuery.tags, [hub, after, limit]) { TaggedMessage(sequence: $0[0], tags: $0[1]) }
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
