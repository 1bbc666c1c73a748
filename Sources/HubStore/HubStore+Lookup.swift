import Formats
import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

/// Reads what reports on sent messages need: the devices that got a message, and the reasons why others did not.
extension HubStore {
    /// Finds a message by its id; `nil` if the log does not hold it, or holds it only above `through`.
    package func message(hub: HubKey, id: MessageID, through: LogSequence) async throws -> AcceptedMessage? {
        try await row(LookupQuery.message, [hub, id.text, through], AcceptedMessage.init(row:))
    }

    /// The newest messages of a hub up to a sequence, newest first.
    package func newestMessages(hub: HubKey, through: LogSequence, limit: Int) async throws -> [AcceptedMessage] {
        try await rows(LookupQuery.newestMessages, [hub, through, limit], AcceptedMessage.init(row:))
    }

    /// The installations of a hub that have changed after a sequence.
    package func changedInstallations(hub: HubKey, after sequence: LogSequence) async throws -> [ChangedInstallation] {
        try await rows(LookupQuery.changes, [hub, sequence]) {
            ChangedInstallation(ordinal: $0["ordinal"], lastChange: $0["lastChange"])
        }
    }

    /// Transforms the choices that each of some installations had over a range of the log.
    ///
    /// The choices of one installation may be large, so they are released before the next installation is read.
    ///
    /// - Parameters:
    ///   - ordinals: The installations; they are read in one snapshot, so there should be few.
    ///   - messages: The sequences of the messages to report on.
    ///   - transform: Receives the rows that are in force for any of the messages, oldest first; none if the
    ///     installation is gone.
    /// - Returns: The results, in the order of the installations.
    /// - Throws: A `DatabaseError`.
    package func mapPendingRows<Output: Sendable>(
        of ordinals: some Sequence<Ordinal> & Sendable,
        over messages: ClosedRange<LogSequence>,
        _ transform: @Sendable ([PendingRow]) -> Output
    ) async throws -> [Output] {
        try await snapshot { db in
            try ordinals.map { ordinal in
                let arguments: StatementArguments = [ordinal, messages.lowerBound, messages.upperBound]
                return transform(try db.rows(LookupQuery.pendingRows, arguments, PendingRow.init(row:)))
            }
        }
    }

    /// An installation as it is now, and as it was when a message was accepted.
    package func installation(
        hub: HubKey,
        id: InstallationID,
        at sequence: LogSequence
    ) async throws -> FormerInstallation? {
        try await snapshot { db in
            guard let stored = try Transaction(db).installation(hub: hub, id: id) else { return nil }
            let rows = try Self.pendingRows(db, ordinal: stored.ordinal)
            let created = "SELECT at FROM log WHERE sequence = ?"
            return FormerInstallation(
                current: stored,
                then: try rows.inForce(at: sequence)?.installation,
                registeredAt: try db.value(created, [stored.createdSequence]),
                changedAt: try db.value(LookupQuery.change, [hub, sequence, stored.ordinal])
            )
        }
    }

    package func progress(of ordinals: some Sequence<Ordinal> & Sendable) async throws -> [Ordinal: StreamProgress] {
        let known = try await rows(LookupQuery.progressOfMany, [ordinals.json], StreamProgress.init(row:))
        return Dictionary(uniqueKeysWithValues: known.map { ($0.ordinal, $0) })
    }

    static func progress(_ db: Database, ordinal: Ordinal) throws -> StreamProgress? {
        try db.row(LookupQuery.progress, [ordinal], StreamProgress.init(row:))
    }

    package func progress(ordinal: Ordinal) async throws -> StreamProgress? {
        try await progress(of: [ordinal])[ordinal]
    }
}

/// The statements of reports, in one place so that a test can check their query plans.
enum LookupQuery {
    private static let messages = "SELECT sequence, \(MessageRecord.columns), at, matched, enqueuedAt FROM log"
    static let message = "\(messages) WHERE hubID = ? AND messageID = ? AND sequence <= ?"
    static let messageOfSequence = "\(messages) WHERE sequence = ? AND messageID IS NOT NULL"
    static let newestMessages = """
        \(messages)
        WHERE hubID = ? AND messageID IS NOT NULL AND sequence <= ? ORDER BY sequence DESC LIMIT ?
        """
    static let newestTags = """
        SELECT sequence, tags FROM log
        WHERE hubID = ? AND sequence > ? AND sequence <= ? AND messageID IS NOT NULL ORDER BY sequence DESC LIMIT ?
        """
    static let sent = "SELECT at FROM log WHERE hubID = ? AND messageID = ?"
    static let changes = """
        SELECT ordinal, max(sequence) AS lastChange FROM log
        WHERE hubID = ? AND sequence > ? AND ordinal IS NOT NULL GROUP BY ordinal
        """
    /// The first change of one installation after a sequence.
    static let change = """
        SELECT at FROM log WHERE hubID = ? AND sequence > ? AND ordinal = ? AND ordinal IS NOT NULL
        ORDER BY sequence LIMIT 1
        """
    /// The rows in force for messages of a range of sequences: the last row before the range, and those inside it.
    static let pendingRows = """
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

/// A message with the details recorded when it was accepted.
package struct AcceptedMessage: Sendable, Equatable {
    package let logged: LoggedMessage
    /// The time at which the message was accepted, or released if it was scheduled.
    package let at: Timestamp
    /// The time at which the message was scheduled; `nil` if it was sent at once.
    package let enqueuedAt: Timestamp?
    /// The number of recipients when the message was accepted; `nil` for messages that an older version accepted.
    package let matched: RecipientCounts?
}

/// An installation that was created, changed or removed.
package struct ChangedInstallation: Sendable {
    package let ordinal: Ordinal
    package let lastChange: LogSequence
}

/// An installation now, and when a message was accepted.
package struct FormerInstallation: Sendable {
    package let current: StoredInstallation
    /// `nil` if it was registered after the message.
    package let then: Installation?
    /// The time of the oldest registration that is left; `nil` if the log no longer holds it.
    package let registeredAt: Timestamp?
    /// The time of the first change after the message.
    package let changedAt: Timestamp?
}

extension [PendingRow] {
    /// The row that decides about a message: the last one before it.
    package func inForce(at sequence: LogSequence) -> PendingRow? {
        last { $0.afterSequence < sequence }
    }
}

extension StreamProgress {
    fileprivate init(row: Row) {
        self.init(
            ordinal: row["ordinal"],
            written: row["written"],
            resumedFrom: row["resumedFrom"],
            connectedAt: row["connectedAt"],
            disconnectedAt: row["disconnectedAt"],
            replacedAt: row["replacedAt"],
            revokedAt: row["revokedAt"]
        )
    }
}

extension AcceptedMessage {
    init(row: Row) throws {
        logged = LoggedMessage(row: row)
        at = row["at"]
        let matched: String? = row["matched"]
        enqueuedAt = row["enqueuedAt"]
        self.matched = try matched.map { try RecipientCounts(record: $0) }
    }
}

extension RecipientCounts {
    /// Reads a ``record``.
    init(record: String) throws {
        let platforms = try JSONReader.decode([String: Int].self, from: record, limits: .stored)
        self.init(total: platforms.values.reduce(0, +), platforms: platforms)
    }

    /// The counts as the store keeps them: a JSON object, whose keys consist of letters and digits.
    var record: String { JSONText(sorted: platforms.mapValues { JSONText($0) }).text }
}

extension Sequence<Ordinal> {
    /// A JSON array for `json_each`, which allows one statement for any number of values.
    ///
    /// Joined here, since ``JSONText`` takes twice the time for thousands of numbers.
    var json: String { "[\(map { "\($0.rawValue)" }.joined(separator: ","))]" }
}
