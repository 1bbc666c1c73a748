import Foundation
import GRDB
package import HubProtocol
import SQLiteFiles

/// A link that lets one browser read a hub's pages.
package struct Invitation: Sendable {
    /// The time for which the link can be used.
    package static let lifetime = Duration.seconds(7 * 86_400)

    /// The link's secret, of which the store keeps only a hash.
    package let code: String
}

extension PageStore {
    /// Creates an invitation that can be used once.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func invite(to hub: HubName, at now: Timestamp) async throws -> Invitation {
        let secret = SessionSecret.random()
        try await write { db in
            try db.execute(sql: "DELETE FROM invitation WHERE expiresAt <= ?", arguments: [now])
            try db.execute(
                sql: "INSERT INTO invitation (hash, hub, expiresAt) VALUES (?, ?, ?)",
                arguments: [Data(secret.digest), hub.folded, now + Invitation.lifetime]
            )
        }
        return Invitation(code: secret.text)
    }

    /// False for an invitation that is unknown, used, expired or for another hub.
    func isUsable(_ code: String, hub: HubName, at now: Timestamp) async throws -> Bool {
        guard let secret = SessionSecret(code) else { return false }
        let hash = Data(secret.digest)
        return try await read { db in
            let found = try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM invitation WHERE hash = ? AND hub = ? AND expiresAt > ?)",
                arguments: [hash, hub.folded, now]
            )
            return found == true
        }
    }

    /// Uses an invitation.
    ///
    /// - Returns: False for an invitation that is unknown, used, expired or for another hub.
    func use(_ code: String, hub: HubName, at now: Timestamp) async throws -> Bool {
        guard let secret = SessionSecret(code) else { return false }
        let hash = Data(secret.digest)
        return try await write { db in
            try db.execute(
                sql: "DELETE FROM invitation WHERE hash = ? AND hub = ? AND expiresAt > ?",
                arguments: [hash, hub.folded, now]
            )
            return db.changesCount == 1
        }
    }
}
