import Foundation
import GRDB
import HubProtocol
import SQLiteFiles

extension PageStore {
    /// Uses a link, and begins the operator's session, which the audit log records.
    ///
    /// - Returns: `nil` for a link that is unknown, used, expired or for another hub.
    func beginOperatorSession(
        with code: String,
        _ secret: SessionSecret,
        from network: String,
        hub: HubName,
        at now: Timestamp
    ) async throws -> OperatorSession? {
        guard let code = SessionSecret(code) else { return nil }
        return try await write { db in
            guard try Self.use(code, as: .operator, hub: hub, at: now, in: db) else { return nil }
            try db.execute("DELETE FROM operatorSession WHERE expiresAt <= ?", [now])
            let expiresAt = now + OperatorSession.lifetime
            try db.execute(
                """
                INSERT INTO operatorSession (name, secretHash, hub, createdAt, expiresAt) VALUES (?, ?, ?, ?, ?)
                """,
                [secret.name, Data(secret.digest), hub.folded, now, expiresAt]
            )
            let session = OperatorSession(id: db.lastInsertedRowID, name: secret.name, expiresAt: expiresAt)
            let acting = ActingOperator(who: session.shortName, network: network, hub: hub, at: now)
            let outcome = "session until \(expiresAt.wholeSecond)"
            _ = try Self.insertAction("enter", "", by: acting, outcome: outcome, in: db)
            return session
        }
    }

    /// The session that a cookie belongs to.
    func operatorSession(_ secret: SessionSecret, hub: HubName, at now: Timestamp) async throws -> OperatorSession? {
        let hash = Data(secret.digest)
        return try await read { db in
            let row = try db.row(
                """
                SELECT sessionID AS id, name, expiresAt FROM operatorSession
                WHERE name = ? AND secretHash = ? AND hub = ? AND expiresAt > ?
                """,
                [secret.name, hash, hub.folded, now]
            )
            return try row.map(OperatorSession.init(row:))
        }
    }

    func end(_ session: OperatorSession) async throws {
        try await execute("DELETE FROM operatorSession WHERE sessionID = ?", [session.id])
    }
}
