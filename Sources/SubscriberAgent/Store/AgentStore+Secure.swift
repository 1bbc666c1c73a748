import Formats
import GRDB
import HubProtocol
import SQLiteFiles

/// A notification of which only the id has arrived.
struct SecureRecord: Sendable, Equatable {
    /// Its place in the inbox, once the text has been fetched.
    let ordinal: Int64
    let secureID: Int64
    /// The user for whom the agent was registered; `nil` if unknown.
    let user: String?
}

/// Secure notifications whose text has not been fetched yet.
extension AgentStore {
    /// Stores an id within the transaction that adds its message to the inbox.
    static func insertSecure(
        _ arrival: Arrival,
        _ secureID: Int64,
        ordinal: Int64,
        at now: Timestamp,
        in database: Database
    ) throws {
        try database.execute(
            """
            INSERT INTO secure (ordinal, id, template, secureID, user, receivedAt)
                VALUES (?, ?, ?, ?, (SELECT taggedUser FROM agent), ?)
            """,
            [ordinal, arrival.id, arrival.template, secureID, now]
        )
    }

    func secureCount() async throws(DatabaseFileError) -> Int {
        try await read { try $0.count("secure") }
    }

    /// Returns the arrival time of the oldest notification; `nil` if there is none.
    func oldestSecure() async throws(DatabaseFileError) -> Timestamp? {
        try await read { try Timestamp.fetchOne($0, sql: "SELECT min(receivedAt) FROM secure") }
    }

    /// Returns the oldest notification that a user may fetch.
    func nextSecure(for user: String) async throws(DatabaseFileError) -> SecureRecord? {
        try await read { database in
            try database.row("SELECT * FROM secure WHERE user IS NULL OR user = ? ORDER BY ordinal LIMIT 1", [user]) {
                SecureRecord(ordinal: $0["ordinal"], secureID: $0["secureID"], user: $0["user"])
            }
        }
    }

    /// Adds the text to the inbox at the notification's place, for a handler.
    ///
    /// - Returns: False if another process has deleted the notification meanwhile.
    func resolve(_ record: SecureRecord, text: String) async throws(DatabaseFileError) -> Bool {
        let body: JSONText = [
            MessageProperty.message.rawValue: JSONText(text),
            MessageProperty.secureID.rawValue: JSONText("\(record.secureID)"),
        ]
        return try await write { database in
            try database.execute(
                """
                INSERT INTO inbox (ordinal, kind, id, template, body, title, message, link, category, receivedAt, state)
                    SELECT ordinal, 'message', id, template, ?, '', ?, '', '', receivedAt, 'pending' FROM secure
                    WHERE ordinal = ?
                """,
                [body.text, text, record.ordinal]
            )
            let isInserted = database.changesCount == 1
            try database.execute("DELETE FROM secure WHERE ordinal = ?", [record.ordinal])
            return isInserted
        }
    }

    func dropSecure(_ record: SecureRecord) async throws(DatabaseFileError) {
        try await execute("DELETE FROM secure WHERE ordinal = ?", [record.ordinal])
    }

    /// Deletes notifications that arrived before an instant, and the oldest above ``Bounds/secure``.
    ///
    /// - Returns: The number of deleted notifications.
    func dropSecure(before instant: Timestamp) async throws(DatabaseFileError) -> Int {
        let limit = bounds.secure
        return try await write { database in
            try database.execute(
                """
                DELETE FROM secure WHERE receivedAt < ?
                    OR ordinal NOT IN (SELECT ordinal FROM secure ORDER BY ordinal DESC LIMIT ?)
                """,
                [instant, limit]
            )
            return database.changesCount
        }
    }

    // MARK: - The user of the installation

    /// Records before a call that the installation at the hub may get a user's tag.
    func setTagged(_ user: String) async throws(DatabaseFileError) {
        try await execute("UPDATE agent SET taggedUser = ?, registeredUser = NULL", [user])
    }

    /// Records that the hub no longer has the installation, nor messages for its former user.
    func setUntagged() async throws(DatabaseFileError) {
        try await execute(
            """
            UPDATE agent SET taggedUser = NULL, registeredUser = NULL, registered = NULL, cursor = NULL,
                generation = generation + 1
            """
        )
    }
}
