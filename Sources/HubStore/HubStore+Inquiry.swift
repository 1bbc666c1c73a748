import Foundation
import GRDB
package import HubProtocol
package import HubRouting

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

    /// The installations of a hub that have changed after a place in the log.
    package func changedInstallations(hub: Int64, after sequence: Int64) async throws -> [ChangedInstallation] {
        try await pool.read { db in
            try Row.fetchAll(try db.cachedStatement(sql: Inquiry.changes), arguments: [hub, sequence])
                .map { ChangedInstallation(ordinal: $0[0], lastChange: $0[1]) }
        }
    }

    /// Makes something of what each of some installations has wanted over a run of the log.
    ///
    /// What one has wanted may be large: it is let go before the next one is read.
    ///
    /// - Parameters:
    ///   - ordinals: The installations; they are read at one moment, so there should be few.
    ///   - messages: The sequences of the messages that it is asked for.
    ///   - transform: Takes the rows that are in force for any of them, oldest first; none of one that is gone.
    /// - Returns: What was made, in the order of the installations.
    /// - Throws: What SQLite says.
    package func mapOwed<Output: Sendable>(
        of ordinals: some Sequence<Int64> & Sendable,
        over messages: ClosedRange<Int64>,
        _ transform: @Sendable ([OwedRow]) -> Output
    ) async throws -> [Output] {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: Inquiry.owed)
            return try ordinals.map { ordinal in
                let arguments: StatementArguments = [ordinal, messages.lowerBound, messages.upperBound]
                let rows = try Row.fetchCursor(statement, arguments: arguments)
                return transform(try Array(rows.map { OwedRow(afterSequence: $0[0], record: $0[1]) }))
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
            let list = "[\(ordinals.map { "\($0)" }.joined(separator: ","))]"
            let rows = try Row.fetchCursor(try db.cachedStatement(sql: Inquiry.progressOfMany), arguments: [list])
            var known: [Int64: StreamProgress] = [:]
            while let row = try rows.next() { known[row[0]] = StreamProgress(row: row) }
            return known
        }
    }

    static func progress(_ db: Database, ordinal: Int64) throws -> StreamProgress? {
        let statement = try db.cachedStatement(sql: Inquiry.progress)
        return try Row.fetchOne(statement, arguments: [ordinal]).map(StreamProgress.init(row:))
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
    /// The rows in force for messages from one sequence to another: the last one before the first of them, and later ones.
    static let owed = """
        SELECT afterSequence, record FROM owed WHERE ordinal = ?1 AND afterSequence < ?3 AND afterSequence >= ifnull(
            (SELECT max(afterSequence) FROM owed WHERE ordinal = ?1 AND afterSequence < ?2), 0)
        ORDER BY afterSequence
        """
    private static let progressColumns = """
        SELECT ordinal, written, resumedFrom, connectedAt, disconnectedAt, replacedAt, revokedAt FROM streamProgress
        """
    static let progress = "\(progressColumns) WHERE ordinal = ?"
    static let progressOfMany = "\(progressColumns) WHERE ordinal IN (SELECT value FROM json_each(?))"
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

extension StreamProgress {
    fileprivate init(row: Row) {
        self.init(
            ordinal: row[0],
            written: row[1],
            resumedFrom: row[2],
            connectedAt: row[3],
            disconnectedAt: row[4],
            replacedAt: row[5],
            revokedAt: row[6]
        )
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
