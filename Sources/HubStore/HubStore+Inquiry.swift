import Foundation
import GRDB
package import HubProtocol

/// What the store knows of messages that were sent: for answering "who got this, and why not".
extension HubStore {
    /// Finds a message by its id; `nil` when the log does not hold it, or not yet below `through`.
    package func message(hub: Int64, id: MessageID, through: Int64) async throws -> AcceptedMessage? {
        try await pool.read { db in
            try Row.fetchOne(db, sql: Inquiry.message, arguments: [hub, id.text, through])
                .map(AcceptedMessage.init(row:))
        }
    }

    /// The newest messages of a hub up to a place in the log, newest first.
    package func newestMessages(hub: Int64, through: Int64, limit: Int) async throws -> [AcceptedMessage] {
        try await pool.read { db in
            try Row.fetchAll(db, sql: Inquiry.newestMessages, arguments: [hub, through, limit])
                .map(AcceptedMessage.init(row:))
        }
    }

    /// The installations of a hub that have changed after a place in the log, each with what it has wanted.
    package func changedInstallations(hub: Int64, after sequence: Int64) async throws -> [ChangedInstallation] {
        try await pool.read { db in
            try Row.fetchAll(db, sql: Inquiry.changes, arguments: [hub, sequence]).map { row in
                ChangedInstallation(ordinal: row[0], lastChange: row[1], rows: try Self.owedRows(db, ordinal: row[0]))
            }
        }
    }

    /// An installation as it stands, and as it was when a message came.
    package func installation(
        hub: Int64,
        id: InstallationID,
        at sequence: Int64
    ) async throws -> FormerInstallation? {
        try await pool.read { db in
            guard let stored = try Transaction(db).installation(hub: hub, id: id) else { return nil }
            let rows = try Self.owedRows(db, ordinal: stored.ordinal)
            let created = "SELECT at FROM log WHERE sequence = ?"
            return FormerInstallation(
                current: stored,
                then: try rows.inForce(at: sequence)?.installation,
                registeredAt: try Int64.fetchOne(db, sql: created, arguments: [stored.createdSequence]),
                changedAt: try Int64.fetchOne(db, sql: Inquiry.change, arguments: [hub, sequence, stored.ordinal])
            )
        }
    }

    package func progress(of ordinals: some Sequence<Int64> & Sendable) async throws -> [Int64: StreamProgress] {
        try await pool.read { db in
            try ordinals.reduce(into: [:]) { $0[$1] = try Self.progress(db, ordinal: $1) }
        }
    }

    static func progress(_ db: Database, ordinal: Int64) throws -> StreamProgress? {
        let statement = try db.cachedStatement(sql: Inquiry.progress)
        return try Row.fetchOne(statement, arguments: [ordinal]).map { row in
            StreamProgress(
                ordinal: ordinal,
                written: row[0],
                resumedFrom: row[1],
                connectedAt: row[2],
                disconnectedAt: row[3],
                replacedAt: row[4],
                revokedAt: row[5]
            )
        }
    }

    package func progress(ordinal: Int64) async throws -> StreamProgress? {
        try await progress(of: [ordinal])[ordinal]
    }
}

/// The statements of inquiries, apart so that a test can ask for their plans.
enum Inquiry {
    static let message = """
        SELECT sequence, \(MessageRecord.columns), at, matched, enqueuedAt FROM log
        WHERE hubID = ? AND messageID = ? AND sequence <= ?
        """
    static let newestMessages = """
        SELECT sequence, \(MessageRecord.columns), at, matched, enqueuedAt FROM log
        WHERE hubID = ? AND messageID IS NOT NULL AND sequence <= ? ORDER BY sequence DESC LIMIT ?
        """
    static let sent = "SELECT at FROM log WHERE hubID = ? AND messageID = ?"
    static let changes = """
        SELECT ordinal, max(sequence) FROM log WHERE hubID = ? AND sequence > ? AND ordinal IS NOT NULL GROUP BY ordinal
        """
    /// The first change of one installation after a place.
    static let change = """
        SELECT at FROM log WHERE hubID = ? AND sequence > ? AND ordinal = ? AND ordinal IS NOT NULL
        ORDER BY sequence LIMIT 1
        """
    static let progress = """
        SELECT written, resumedFrom, connectedAt, disconnectedAt, replacedAt, revokedAt FROM streamProgress
        WHERE ordinal = ?
        """
}

/// A message with what was noted when it was accepted.
package struct AcceptedMessage: Sendable, Equatable {
    package let logged: LoggedMessage
    /// Milliseconds since 1970; of a scheduled message, when it was released.
    package let at: Int64
    /// When it was scheduled; `nil` for one that was sent at once.
    package let enqueuedAt: Int64?
    /// Whom it matched when it was accepted; `nil` for messages that an older version took.
    package let matched: RecipientCounts?
}

/// An installation that has changed, been made or been removed.
package struct ChangedInstallation: Sendable {
    package let ordinal: Int64
    package let lastChange: Int64
    /// Oldest first; empty for one that is gone.
    package let rows: [OwedRow]
}

/// An installation today and when a message came.
package struct FormerInstallation: Sendable {
    package let current: StoredInstallation
    /// `nil` when it was registered after the message.
    package let then: Installation?
    /// Milliseconds since 1970, of the oldest registration that is left; `nil` when the log no longer says it.
    package let registeredAt: Int64?
    /// When it first changed after the message.
    package let changedAt: Int64?
}

extension [OwedRow] {
    /// The row that decides about a message: the last one before it.
    package func inForce(at sequence: Int64) -> OwedRow? {
        last { $0.afterSequence < sequence }
    }
}

extension AcceptedMessage {
    init(row: Row) throws {
        logged = LoggedMessage(row: row)
        at = row[7]
        let matched: String? = row[8]
        enqueuedAt = row[9]
        self.matched = try matched.map { try RecipientCounts(record: $0) }
    }
}

extension RecipientCounts {
    /// Reads what ``record`` wrote.
    init(record: String) throws {
        let platforms = try JSONDecoder().decode([String: Int].self, from: Data(record.utf8))
        self.init(total: platforms.values.reduce(0, +), platforms: platforms)
    }

    /// The counts as the store keeps them: a JSON object; names of platforms are letters and digits.
    var record: String {
        "{\(platforms.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
    }
}
