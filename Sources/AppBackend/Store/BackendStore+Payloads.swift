import Foundation
import GRDB
import HubProtocol
import SQLiteFiles

extension BackendStore {
    static func createPayloads(_ db: Database) throws {
        // The key begins with the addressee, so a lookup of another user's id is the same as one of an unknown id.
        try db.execute(
            sql: """
                CREATE TABLE payload (
                    addressee TEXT NOT NULL,
                    id INTEGER NOT NULL UNIQUE CHECK (id BETWEEN 1 AND 2147483647),
                    isRead INTEGER NOT NULL,
                    expiresAt INTEGER NOT NULL,
                    sealed BLOB NOT NULL,
                    PRIMARY KEY (addressee, id)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX payloadByState ON payload (addressee, isRead, expiresAt);
                CREATE INDEX payloadByExpiry ON payload (expiresAt);
                """
        )
    }

    static func addSenders(_ db: Database) throws {
        // An early version of the first schema already has the column.
        guard try !db.columns(in: "payload").contains(where: { $0.name == "sender" }) else { return }
        try db.execute(
            sql: """
                ALTER TABLE payload ADD COLUMN sender TEXT NOT NULL DEFAULT '';
                CREATE INDEX payloadBySender ON payload (sender, expiresAt);
                """
        )
    }

    /// Runs work on the payloads, in its own transaction.
    func changePayloads<Value: Sendable>(
        _ body: @escaping @Sendable (PayloadTable) throws -> Value
    ) async throws -> Value {
        try await write { try body(PayloadTable(db: $0)) }
    }

    func readPayloads<Value: Sendable>(
        _ body: @escaping @Sendable (PayloadTable) throws -> Value
    ) async throws -> Value {
        try await read { try body(PayloadTable(db: $0)) }
    }
}

/// The limits on stored payloads.
struct PayloadBounds: Sendable {
    /// Payloads of one addressee, of which fetched ones are deleted to make room.
    var waiting = 1_000
    /// Payloads of one sender, fetched or not, so that no sender can fill the store.
    var ofSender = 10_000
    /// Payloads of all users together: 1.6 GB if all have the largest size.
    var total = 100_000
}

/// The result of storing a payload.
enum PayloadPlace: Sendable, Equatable {
    case stored(id: Int64)
    /// The addressee has too many payloads; there is no room until one of them expires.
    case addresseeIsFull(until: Timestamp)
    /// The sender has stored too many payloads; there is no room until one of them expires.
    case senderIsFull(until: Timestamp)
    case storeIsFull
}

struct StoredPayload: Sendable, Equatable {
    let sealed: Data
    let isRead: Bool
}

/// Stored payloads, within a transaction.
struct PayloadTable {
    /// The ids that the tutorials' client can read (`intValue`), except 0, which is its result for any other text.
    static let ids = Int64(1)...Int64(Int32.max)
    /// Attempts to find an unused id; when the store is full, one attempt in 20,000 fails.
    private static let maximumTries = 20

    let db: TableTransaction

    /// Stores a payload with a new random id.
    ///
    /// - Parameters:
    ///   - addressee: The key of a ``UserName``; the user need not exist.
    ///   - sender: The key of the sender's name.
    ///   - bounds: The largest numbers of payloads.
    ///   - now: Payloads that expire before this time do not count.
    ///   - expiresAt: When the payload can no longer be fetched.
    ///   - seal: Encrypts the payload for its id.
    /// - Returns: The id, or the limit that was reached.
    /// - Throws: Errors of SQLite, or of `seal`.
    func insert(
        for addressee: String,
        from sender: String,
        within bounds: PayloadBounds,
        now: Timestamp,
        expiresAt: Timestamp,
        seal: (Int64) throws -> Data
    ) throws -> PayloadPlace {
        let sent = try db.row(
            "SELECT count(*), min(expiresAt) FROM payload WHERE sender = ? AND expiresAt > ?",
            [sender, now]
        )
        if let sent, sent[0] >= bounds.ofSender { return .senderIsFull(until: sent[1]) }
        let valid = "addressee = :addressee AND expiresAt > :now"
        let arguments: StatementArguments = ["addressee": addressee, "now": now]
        let waiting = try db.row(
            "SELECT count(*), min(expiresAt) FROM payload WHERE \(valid) AND isRead = 0",
            arguments
        )
        if let waiting, waiting[0] >= bounds.waiting { return .addresseeIsFull(until: waiting[1]) }
        let all = try db.count("payload WHERE \(valid)", arguments)
        if all >= bounds.waiting { try dropRead(of: addressee, count: all - bounds.waiting + 1) }
        // Reads several megabytes of an index when the store is full.
        guard try db.count("payload") < bounds.total, let id = try newID() else {
            return .storeIsFull
        }
        try db.execute(
            "INSERT INTO payload (addressee, id, sender, isRead, expiresAt, sealed) VALUES (?, ?, ?, 0, ?, ?)",
            [addressee, id, sender, expiresAt, try seal(id)]
        )
        return .stored(id: id)
    }

    private func newID() throws -> Int64? {
        for _ in 0..<Self.maximumTries {
            let id = Int64.random(in: Self.ids)
            if try !db.exists("SELECT 1 FROM payload WHERE id = ?", [id]) { return id }
        }
        return nil
    }

    /// Deletes the fetched payloads that expire first.
    private func dropRead(of addressee: String, count: Int) throws {
        try db.execute(
            """
            DELETE FROM payload WHERE addressee = ?1 AND id IN (
                SELECT id FROM payload WHERE addressee = ?1 AND isRead = 1 ORDER BY expiresAt, id LIMIT ?2
            )
            """,
            [addressee, count]
        )
    }

    /// A payload of this addressee that has not expired.
    func payload(_ id: Int64, of addressee: String, now: Timestamp) throws -> StoredPayload? {
        try db.row(
            "SELECT sealed, isRead FROM payload WHERE addressee = ? AND id = ? AND expiresAt > ?",
            [addressee, id, now]
        ).map { StoredPayload(sealed: $0["sealed"], isRead: $0["isRead"]) }
    }

    /// Records that a payload was fetched.
    ///
    /// - Returns: True the first time.
    func markRead(_ id: Int64, of addressee: String) throws -> Bool {
        try db.execute("UPDATE payload SET isRead = 1 WHERE addressee = ? AND id = ? AND isRead = 0", [addressee, id])
        return db.changesCount == 1
    }

    func delete(_ id: Int64, of addressee: String) throws {
        try db.execute("DELETE FROM payload WHERE addressee = ? AND id = ?", [addressee, id])
    }

    func deleteAll(of addressee: String) throws {
        try db.execute("DELETE FROM payload WHERE addressee = ?", [addressee])
    }

    /// Deletes payloads that expired by `time`.
    func deleteExpired(by time: Timestamp) throws {
        try db.execute("DELETE FROM payload WHERE expiresAt <= ?", [time])
    }
}
