import GRDB
import HubProtocol
import SQLiteFiles

/// The identity of hubs: a new hub can have the name of a deleted one, but not its sessions and invitations.
extension PageStore {
    /// Records when a hub was created, and ends sessions and invitations of an earlier hub with its name.
    ///
    /// Readers' sessions are made to expire, so that the hourly round also deletes their registrations at the app
    /// backend. An invitation can be newer than the last request for the hub; it is kept if it was made after the hub.
    func note(_ hub: HubName, createdAt: Timestamp) async throws {
        try await write { db in
            let known: Timestamp? = try db.value("SELECT createdAt FROM hubIdentity WHERE hub = ?", [hub.folded])
            guard known != createdAt else { return }
            try db.execute(
                "INSERT OR REPLACE INTO hubIdentity (hub, createdAt) VALUES (?, ?)",
                [hub.folded, createdAt]
            )
            // Files of earlier versions do not record the time.
            guard known != nil else { return }
            try db.execute("UPDATE session SET seenAt = 0 WHERE hub = ?", [hub.folded])
            try db.execute("DELETE FROM operatorSession WHERE hub = ?", [hub.folded])
            try db.execute("DELETE FROM deskDraft WHERE hub = ?", [hub.folded])
            try db.execute("DELETE FROM feedAddress WHERE hub = ? AND createdAt < ?", [hub.folded, createdAt])
            for kind in [OpenInvitation.Kind.reader, .operator] {
                try db.execute(
                    "DELETE FROM \(kind.table.name) WHERE hub = ? AND expiresAt < ?",
                    [hub.folded, createdAt + kind.lifetime]
                )
            }
        }
    }
}
