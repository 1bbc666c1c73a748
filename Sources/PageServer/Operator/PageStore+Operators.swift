import Foundation
import GRDB
package import HubProtocol
import SQLiteFiles

/// A link that signs one browser in as an operator.
package struct OperatorInvitation: Sendable {
    /// The time for which the link can be used.
    package static let lifetime = Duration.seconds(3_600)

    /// The link's secret, of which the store keeps only a hash.
    package let code: String
}

extension PageStore {
    /// Creates a link for an operator that can be used once.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func inviteOperator(of hub: HubName, at now: Timestamp) async throws -> OperatorInvitation {
        let secret = SessionSecret.random()
        try await write { db in
            try db.execute(sql: "DELETE FROM operatorInvitation WHERE expiresAt <= ?", arguments: [now])
            try db.execute(
                sql: "INSERT INTO operatorInvitation (hash, hub, expiresAt) VALUES (?, ?, ?)",
                arguments: [Data(secret.digest), hub.folded, now + OperatorInvitation.lifetime]
            )
        }
        return OperatorInvitation(code: secret.text)
    }

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
        guard let invitation = SessionSecret(code) else { return nil }
        let (hash, digest) = (Data(invitation.digest), Data(secret.digest))
        return try await write { db in
            try db.execute(
                sql: "DELETE FROM operatorInvitation WHERE hash = ? AND hub = ? AND expiresAt > ?",
                arguments: [hash, hub.folded, now]
            )
            guard db.changesCount == 1 else { return nil }
            try db.execute(sql: "DELETE FROM operatorSession WHERE expiresAt <= ?", arguments: [now])
            let expiresAt = now + OperatorSession.lifetime
            try db.execute(
                sql: """
                    INSERT INTO operatorSession (name, secretHash, hub, createdAt, expiresAt) VALUES (?, ?, ?, ?, ?)
                    """,
                arguments: [secret.name, digest, hub.folded, now, expiresAt]
            )
            let session = OperatorSession(id: db.lastInsertedRowID, name: secret.name, expiresAt: expiresAt)
            _ = try Self.insertAction(
                "enter",
                "",
                by: session,
                from: network,
                hub: hub,
                at: now,
                outcome: "session until \(expiresAt.wholeSecond)",
                in: db
            )
            return session
        }
    }

    /// The session that a cookie belongs to.
    func operatorSession(_ secret: SessionSecret, hub: HubName, at now: Timestamp) async throws -> OperatorSession? {
        let hash = Data(secret.digest)
        return try await read { db in
            try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT sessionID, name, expiresAt FROM operatorSession
                        WHERE name = ? AND secretHash = ? AND hub = ? AND expiresAt > ?
                        """
                ),
                arguments: [secret.name, hash, hub.folded, now]
            ).map { OperatorSession(id: $0["sessionID"], name: $0["name"], expiresAt: $0["expiresAt"]) }
        }
    }

    func end(_ session: OperatorSession) async throws {
        try await write {
            try $0.execute(sql: "DELETE FROM operatorSession WHERE sessionID = ?", arguments: [session.id])
        }
    }
}
