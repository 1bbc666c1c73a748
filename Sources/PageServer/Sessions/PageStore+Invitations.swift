import Foundation
import GRDB
package import HubProtocol
import SQLiteFiles

/// A link that lets one browser in once: as a reader of a hub's pages, or as an operator.
package struct Invitation: Sendable {
    /// The time for which a reader's link can be used.
    package static let lifetime = Duration.seconds(7 * 86_400)
    /// The time for which an operator's link can be used.
    package static let operatorLifetime = Duration.seconds(3_600)

    /// The link's secret, of which the store keeps only a hash.
    package let code: String
}

extension PageStore {
    /// Creates a reader's link.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func invite(to hub: HubName, at now: Timestamp) async throws -> Invitation {
        try await addLink(.reader, to: hub, at: now)
    }

    /// Creates an operator's link.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func inviteOperator(of hub: HubName, at now: Timestamp) async throws -> Invitation {
        try await addLink(.operator, to: hub, at: now)
    }

    private func addLink(_ kind: OpenInvitation.Kind, to hub: HubName, at now: Timestamp) async throws -> Invitation {
        let secret = SessionSecret.random()
        let table = kind.table.name
        try await write { db in
            try db.execute("DELETE FROM \(table) WHERE expiresAt <= ?", [now])
            try db.execute(
                "INSERT INTO \(table) (hash, hub, expiresAt) VALUES (?, ?, ?)",
                [Data(secret.digest), hub.folded, now + kind.lifetime]
            )
        }
        return Invitation(code: secret.text)
    }

    /// False for an invitation that is unknown, used, expired or for another hub.
    func isUsable(_ code: String, hub: HubName, at now: Timestamp) async throws -> Bool {
        guard let secret = SessionSecret(code) else { return false }
        let hash = Data(secret.digest)
        return try await read { db in
            let sql = "SELECT 1 FROM invitation WHERE hash = ? AND hub = ? AND expiresAt > ?"
            return try db.exists(sql, [hash, hub.folded, now])
        }
    }

    /// Uses an invitation.
    ///
    /// - Returns: False for an invitation that is unknown, used, expired or for another hub.
    func use(_ code: String, hub: HubName, at now: Timestamp) async throws -> Bool {
        guard let code = SessionSecret(code) else { return false }
        return try await write { try Self.use(code, as: .reader, hub: hub, at: now, in: $0) }
    }

    /// Uses a link of one kind, in the transaction of what it is used for.
    static func use(
        _ secret: SessionSecret,
        as kind: OpenInvitation.Kind,
        hub: HubName,
        at now: Timestamp,
        in db: TableTransaction
    ) throws -> Bool {
        try db.execute(
            "DELETE FROM \(kind.table.name) WHERE hash = ? AND hub = ? AND expiresAt > ?",
            [Data(secret.digest), hub.folded, now]
        )
        return db.changesCount == 1
    }
}
