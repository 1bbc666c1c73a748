import Foundation
import Formats
import GRDB
import HubProtocol
import SQLiteFiles
import WebPages

/// A message of the desk that was not sent yet: a draft, or one that waits for the approval of a second account.
///
/// Its content never changes: an edited draft is stored as another one.
struct DeskDraft: Sendable, Decodable, FetchableRecord {
    /// The largest number of drafts of a hub, and of messages that wait for approval.
    static let maximumOfHub = 100
    static let lifetime = Duration.seconds(30 * 86_400)
    /// Time after which a request for approval expires.
    static let approvalTime = Duration.seconds(86_400)

    let id: Int64
    /// The name in the audit log of the one who saved it.
    let author: String
    /// The idempotency key with which it is sent.
    let key: String
    private let content: String
    /// The digest of exactly what is approved; `nil` for a draft that waits for nothing.
    let digest: Data?
    /// The account that has approved it, until it is sent.
    let approver: String?
    let createdAt: Timestamp
    let expiresAt: Timestamp

    var isWaiting: Bool { digest != nil }

    /// The form's fields; empty if they are damaged.
    var fields: OperatorSendPage.Fields {
        (try? JSONReader.decode(OperatorSendPage.Fields.self, from: content, limits: .stored)) ?? .init()
    }
}

/// The reason why a draft cannot be stored.
enum DraftRefusal: Error {
    case full
}

extension PageStore {
    static func addDrafts(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE deskDraft (
                    draftID INTEGER PRIMARY KEY AUTOINCREMENT,
                    hub TEXT NOT NULL,
                    author TEXT NOT NULL,
                    key TEXT NOT NULL,
                    content TEXT NOT NULL,
                    digest BLOB,
                    approver TEXT,
                    createdAt INTEGER NOT NULL,
                    expiresAt INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX deskDraftByHub ON deskDraft (hub, draftID);
                """
        )
    }

    private static let draftColumns = """
        SELECT draftID AS id, author, key, content, digest, approver, createdAt, expiresAt FROM deskDraft
        """

    /// Stores a draft instead of the one that its fields name.
    ///
    /// - Parameters:
    ///   - fields: The form; its field `draft` names the one that was edited.
    ///   - key: The idempotency key with which it will be sent.
    ///   - digest: The digest of what a second account must approve; `nil` for a draft.
    ///   - acting: Who saves it.
    /// - Throws: ``DraftRefusal``.
    func save(_ fields: OperatorSendPage.Fields, key: String, digest: Data?, by acting: ActingOperator) async throws {
        let content = try JSONEncoder.sorted.text(fields)
        let lifetime = digest == nil ? DeskDraft.lifetime : DeskDraft.approvalTime
        try await write { db in
            try Self.dropExpiredDrafts(at: acting.at, in: db)
            try Self.endReplaced(fields, key: key, by: acting, in: db)
            let rows = "deskDraft WHERE hub = ? AND digest IS \(digest == nil ? "" : "NOT ")NULL"
            guard try db.count(rows, [acting.hub.folded]) < DeskDraft.maximumOfHub else { throw DraftRefusal.full }
            try db.execute(
                """
                INSERT INTO deskDraft (hub, author, key, content, digest, createdAt, expiresAt)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
                [acting.hub.folded, acting.who, key, content, digest, acting.at, acting.at + lifetime]
            )
            guard digest != nil else { return }
            _ = try Self.insertAction("ask for approval", fields.title, by: acting, outcome: "waiting", in: db)
        }
    }

    /// Ends the draft that a form has edited, and the message that waits since its former preview, unless that was approved
    /// meanwhile.
    func endReplaced(_ fields: OperatorSendPage.Fields, by acting: ActingOperator) async throws {
        try await write { try Self.endReplaced(fields, key: "", by: acting, in: $0) }
    }

    /// `key` is that of a form that may have been sent before, for example by a double press.
    private static func endReplaced(
        _ fields: OperatorSendPage.Fields,
        key: String,
        by acting: ActingOperator,
        in db: TableTransaction
    ) throws {
        let condition = "hub = ? AND approver IS NULL AND (draftID = ? OR digest IS NOT NULL AND key IN (?, ?))"
        let values: [(any DatabaseValueConvertible)?] = [acting.hub.folded, Int64(fields.draft), fields.former, key]
        let ended = try db.rows("\(draftColumns) WHERE \(condition)", StatementArguments(values))
            .map(DeskDraft.init(row:))
        try db.execute("DELETE FROM deskDraft WHERE \(condition)", values)
        for draft in ended where draft.isWaiting {
            let detail = "of \(draft.author): \(draft.fields.title)"
            _ = try insertAction("replace request", detail, by: acting, outcome: "replaced", in: db)
        }
    }

    private static func dropExpiredDrafts(at now: Timestamp, in db: TableTransaction) throws {
        try db.execute("DELETE FROM deskDraft WHERE expiresAt <= ?", [now])
    }

    func dropExpiredDrafts(at now: Timestamp) async throws {
        try await write { try Self.dropExpiredDrafts(at: now, in: $0) }
    }

    /// The drafts of a hub, newest first.
    func drafts(of hub: HubName, at now: Timestamp) async throws -> [DeskDraft] {
        try await read { db in
            let rows = try db.rows(
                "\(Self.draftColumns) WHERE hub = ? AND expiresAt > ? ORDER BY draftID DESC",
                [hub.folded, now]
            )
            return try rows.map(DeskDraft.init(row:))
        }
    }

    func draft(_ id: Int64, of hub: HubName, at now: Timestamp) async throws -> DeskDraft? {
        try await read { db in
            let row = try db.row(
                "\(Self.draftColumns) WHERE draftID = ? AND hub = ? AND expiresAt > ?",
                [id, hub.folded, now]
            )
            return try row.map(DeskDraft.init(row:))
        }
    }

    func deleteDraft(_ id: Int64, of hub: HubName) async throws {
        try await execute("DELETE FROM deskDraft WHERE draftID = ? AND hub = ?", [id, hub.folded])
    }

    /// Approves a waiting message, and records that, in one transaction.
    ///
    /// An approval can be repeated, because the server may have stopped before it sent the message.
    ///
    /// - Returns: False for a draft that is gone, has expired, waits for nothing, or is the approver's own.
    func approve(_ draft: DeskDraft, by acting: ActingOperator) async throws -> Bool {
        try await write { db in
            try db.execute(
                """
                UPDATE deskDraft SET approver = ?
                WHERE draftID = ? AND hub = ? AND digest = ? AND author <> ? AND expiresAt > ?
                """,
                [acting.who, draft.id, acting.hub.folded, draft.digest, acting.who, acting.at]
            )
            guard db.changesCount == 1 else { return false }
            let detail = "of \(draft.author): \(draft.fields.title)"
            _ = try Self.insertAction("approve", detail, by: acting, outcome: "approved", in: db)
            return true
        }
    }
}
