import AppBackend
import Formats
import Foundation
import GRDB
import HubProtocol
import SQLiteFiles

/// The reasons why a session cannot begin.
enum SessionRefusal: Error {
    /// Too many sessions have begun from this network, or of this user, in the last hour.
    case tooManyOfNetwork
    /// The hub has the largest number of sessions.
    case full
}

extension PageStore {
    /// The session that a cookie belongs to.
    func session(_ secret: SessionSecret, hub: HubName, at now: Timestamp) async throws -> ReaderSession? {
        let (hash, oldest) = (Data(secret.digest), now - ReaderSession.lifetime)
        return try await read { db in
            let row = try db.row(
                "SELECT * FROM session WHERE name = ? AND secretHash = ? AND hub = ? AND seenAt > ?",
                [secret.name, hash, hub.folded, oldest]
            )
            return try row.map { try ReaderSession($0) }
        }
    }

    /// The session with an id; `nil` if it has been deleted.
    func session(id: Int64) async throws -> ReaderSession? {
        try await read { db in
            try db.row("SELECT * FROM session WHERE sessionID = ?", [id]).map { try ReaderSession($0) }
        }
    }

    /// Begins a session, of `user` if there is one.
    ///
    /// The sessions of a user count for the user, and not for the network. Those with an invitation do not count: each
    /// uses up its invitation.
    ///
    /// - Returns: The session, and the one that has ended for it, whose installations must be removed.
    /// - Throws: ``SessionRefusal``.
    func begin(
        _ secret: SessionSecret,
        hub: HubName,
        network: String,
        choice: ReaderChoice,
        isInvited: Bool,
        user: UserName? = nil,
        at now: Timestamp
    ) async throws -> (begun: ReaderSession, ended: ReaderSession?) {
        let installation = try ReaderInstallation.page.newID()
        let channel = PushChannelSecret.random()
        let beginner = user.map { "user:\($0.key)" } ?? network
        return try await write { db in
            if !isInvited { try Self.countStart(of: beginner, at: now, in: db) }
            let ended = try self.makePlace(hub, network: network, isGuest: !isInvited && user == nil, in: db)
            try db.execute(
                """
                INSERT INTO session (name, secretHash, hub, network, installation, channel, categories, language,
                    createdAt, seenAt, isInvited, user, formerUser) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?12, ?12)
                """,
                [
                    secret.name, Data(secret.digest), hub.folded, network, installation.text, channel.text,
                    choice.categoryText, choice.language?.text, now, now, isInvited, user?.text,
                ]
            )
            let row = try db.row("SELECT * FROM session WHERE sessionID = ?", [db.lastInsertedRowID])
            guard let row else { throw DatabaseError(resultCode: .SQLITE_INTERNAL) }
            return (try ReaderSession(row), ended)
        }
    }

    private static func countStart(of beginner: String, at now: Timestamp, in db: TableTransaction) throws {
        // Ended sessions count as well.
        try db.execute("DELETE FROM sessionStart WHERE at <= ?", [now - .seconds(3_600)])
        let recent = try db.count("sessionStart WHERE network = ?", [beginner])
        guard recent < maximumNewSessions else { throw SessionRefusal.tooManyOfNetwork }
        try db.execute("INSERT INTO sessionStart (network, at) VALUES (?, ?)", [beginner, now])
    }

    func set(_ choice: ReaderChoice, of session: ReaderSession) async throws {
        try await execute(
            "UPDATE session SET categories = ?, language = ? WHERE sessionID = ?",
            [choice.categoryText, choice.language?.text, session.id]
        )
    }

    /// Records a visit, and the position up to which messages were read.
    func noteVisit(_ session: ReaderSession, position: StreamPosition, at now: Timestamp) async throws {
        // A session that ended with its hub during the visit is not revived.
        let sql = "UPDATE session SET position = ?, seenAt = ? WHERE sessionID = ? AND seenAt > 0"
        try await execute(sql, [position.text, now, session.id])
    }

    func end(_ session: ReaderSession) async throws {
        try await execute("DELETE FROM session WHERE sessionID = ?", [session.id])
    }

    /// The hubs that have sessions.
    func hubNames() async throws -> [HubName] {
        let names: [String] = try await read { try $0.values("SELECT DISTINCT hub FROM session") }
        return names.compactMap { try? HubName($0) }
    }

    /// Expired sessions of a hub, at most `limit`, oldest first.
    func expired(hub: HubName, at now: Timestamp, limit: Int) async throws -> [ReaderSession] {
        try await read { db in
            let rows = try db.rows(
                "SELECT * FROM session WHERE hub = ? AND seenAt <= ? ORDER BY seenAt LIMIT ?",
                [hub.folded, now - ReaderSession.lifetime, limit]
            )
            return try rows.map { try ReaderSession($0) }
        }
    }
}

extension ReaderSession {
    init(_ row: Row) throws {
        let names = try JSONReader.decode([String].self, from: row["categories"] as String, limits: .stored)
        self.init(
            id: row["sessionID"],
            installation: try InstallationID(row["installation"] as String),
            channel: try PushChannelSecret(row["channel"] as String),
            choice: ReaderChoice(
                categories: names.compactMap { try? Tag($0) },
                language: (row["language"] as String?).flatMap { try? LanguageName($0) }
            ),
            position: (row["position"] as String?).flatMap { StreamPosition(parsing: $0) },
            hasReturned: (row["position"] as String?) != nil,
            seenAt: row["seenAt"],
            user: (row["user"] as String?).flatMap { UserName($0) },
            sealedToken: row["token"],
            isInvited: row["isInvited"],
            formerUser: (row["formerUser"] as String?).flatMap { UserName($0) },
            browserInstallation: try (row["browser"] as String?).map { try InstallationID($0) },
            browser: try SessionBrowser(row)
        )
    }
}

extension ReaderChoice {
    /// The categories as a JSON array.
    fileprivate var categoryText: String { JSONText(strings: categories.map(\.text)).text }
}
