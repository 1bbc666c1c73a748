import Foundation
import GRDB
package import HubProtocol
import SQLiteFiles

/// A secret with which a feed reader reads a hub's feeds where only invited readers may.
///
/// Feed readers have no cookies, so the secret is part of the feed's address. It gives access to feeds alone. The store
/// keeps only its hash, so an address can be shown only once.
package struct ReaderFeedAddress: Sendable, Decodable, FetchableRecord {
    /// The time after its last use for which it can be used.
    package static let lifetime = ReaderSession.lifetime
    /// The precision of ``usedAt``.
    static let precision = Duration.seconds(3_600)
    /// The largest number of addresses of one reader.
    static let maximumOfReader = 5
    /// The largest number of requests with an address in a minute: a feed reader asks for each category.
    static let requestsPerMinute = 120

    let id: Int64
    let createdAt: Timestamp
    let usedAt: Timestamp
}

extension PageStore {
    /// Creates an address for feeds, for a reader's session or one that the operator gives away.
    ///
    /// - Returns: The secret; `nil` if the reader has the largest number of addresses.
    private func addFeedAddress(of hub: HubName, for session: ReaderSession?, at now: Timestamp) async throws
        -> SessionSecret?
    {
        let secret = SessionSecret.random()
        return try await write { db in
            try db.execute("DELETE FROM feedAddress WHERE usedAt <= ?", [now - ReaderFeedAddress.lifetime])
            if let session {
                let count = try db.count("feedAddress WHERE session = ?", [session.id])
                guard count < ReaderFeedAddress.maximumOfReader else { return nil }
            }
            try db.execute(
                """
                INSERT INTO feedAddress (name, secretHash, hub, session, createdAt, usedAt) VALUES (?, ?, ?, ?, ?, ?)
                """,
                [secret.name, Data(secret.digest), hub.folded, session?.id, now, now]
            )
            return secret
        }
    }

    /// Creates an address for feeds that the operator gives away.
    ///
    /// - Returns: The secret for the query of the address.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func inviteFeedReader(to hub: HubName, at now: Timestamp) async throws -> String {
        try await addFeedAddress(of: hub, for: nil, at: now)?.text ?? ""
    }

    /// Creates an address for the feeds of a reader; it ends with the reader's session.
    ///
    /// - Returns: `nil` if the reader has the largest number of addresses.
    func addFeedAddress(for session: ReaderSession, of hub: HubName, at now: Timestamp) async throws -> String? {
        try await addFeedAddress(of: hub, for: session, at: now)?.text
    }

    /// Finds the address that a secret belongs to, and notes its use.
    ///
    /// A use counts as a visit of the reader whose address it is.
    ///
    /// - Returns: `nil` for a secret that is unknown, expired, ended or for another hub.
    func feedAddress(_ secret: SessionSecret, hub: HubName, at now: Timestamp) async throws -> ReaderFeedAddress? {
        let (hash, oldest) = (Data(secret.digest), now - ReaderFeedAddress.lifetime)
        let found = try await read { db in
            let row = try db.row(
                """
                SELECT feedAddressID AS id, feedAddress.createdAt, usedAt FROM feedAddress
                LEFT JOIN session ON sessionID = session
                WHERE feedAddress.name = ? AND feedAddress.secretHash = ? AND feedAddress.hub = ? AND usedAt > ?
                    AND (session IS NULL OR isInvited AND seenAt > ?)
                """,
                [secret.name, hash, hub.folded, oldest, oldest]
            )
            return try row.map(ReaderFeedAddress.init(row:))
        }
        guard let address = found else { return nil }
        guard now - address.usedAt > ReaderFeedAddress.precision else { return address }
        try? await write { db in
            try db.execute("UPDATE feedAddress SET usedAt = ? WHERE feedAddressID = ?", [now, address.id])
            // A session that ended with its hub is not revived.
            try db.execute(
                """
                UPDATE session SET seenAt = max(seenAt, ?)
                WHERE seenAt > 0 AND sessionID = (SELECT session FROM feedAddress WHERE feedAddressID = ?)
                """,
                [now, address.id]
            )
        }
        return address
    }

    /// The addresses of a reader, oldest first.
    func feedAddresses(of session: ReaderSession, at now: Timestamp) async throws -> [ReaderFeedAddress] {
        try await read { db in
            let rows = try db.rows(
                """
                SELECT feedAddressID AS id, createdAt, usedAt FROM feedAddress WHERE session = ? AND usedAt > ?
                ORDER BY feedAddressID
                """,
                [session.id, now - ReaderFeedAddress.lifetime]
            )
            return try rows.map(ReaderFeedAddress.init(row:))
        }
    }

    /// Ends an address of a reader; other readers' addresses are unknown to it.
    func endFeedAddress(_ id: Int64, of session: ReaderSession) async throws {
        try await execute("DELETE FROM feedAddress WHERE feedAddressID = ? AND session = ?", [id, session.id])
    }

    static func addFeedAddresses(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE feedAddress (
                    feedAddressID INTEGER PRIMARY KEY AUTOINCREMENT,
                    name TEXT NOT NULL UNIQUE,
                    secretHash BLOB NOT NULL,
                    hub TEXT NOT NULL,
                    session INTEGER REFERENCES session (sessionID) ON DELETE CASCADE,
                    createdAt INTEGER NOT NULL,
                    usedAt INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX feedAddressBySession ON feedAddress (session);
                CREATE INDEX feedAddressByUsedAt ON feedAddress (usedAt);
                """
        )
    }
}
