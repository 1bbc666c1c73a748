import Foundation
import GRDB
package import HubProtocol
package import HubRouting
package import SQLiteFiles

/// Access to the database for one member of a commit, valid during the member's call only.
package struct Transaction {
    let db: Database
    /// Records the statements that write; `nil` if no other node will repeat them.
    private let recorder: StatementRecorder?

    init(_ db: Database, recorder: StatementRecorder? = nil) {
        self.db = db
        self.recorder = recorder
    }

    /// The tables of the app backend and the pages.
    package var tables: TableTransaction {
        TableTransaction(db, record: recorder.map { recorder in { try recorder.add($0, $1, changes: $2) } })
    }

    /// Runs a statement that writes.
    ///
    /// All changes of replicated tables go through this method. The result of a statement may depend only on its values and
    /// on replicated tables (``DeterministicSQL``).
    func execute(_ sql: String, _ values: [(any DatabaseValueConvertible)?]) throws {
        try executeLocally(sql, values)
        try recorder?.add(sql, values, changes: db.changesCount)
    }

    /// Runs a statement that writes a table of this node alone (``DeterministicSQL/nodeLocalTables``).
    func executeLocally(_ sql: String, _ values: [(any DatabaseValueConvertible)?]) throws {
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
    }
}

// MARK: - Epochs

extension Transaction {
    /// Maximum number of epochs that are kept.
    package static let maximumEpochs = 10_000

    /// True if no hub has started with this database yet, on this node or on another one of its log.
    package func isNew() throws -> Bool {
        // In any schema.
        guard try db.tableExists("epoch") else { return true }
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM epoch) AND NOT EXISTS (SELECT 1 FROM hub)"
        return try Bool.fetchOne(db, sql: sql) ?? true
    }

    /// Begins an epoch, which cursors name from now on, or continues the current one if it has this name.
    ///
    /// Deletes epochs that end before the oldest message of the log, whose cursors lead to a gap in any case, and the
    /// oldest epochs beyond ``maximumEpochs``.
    package func beginEpoch(named name: String, at: Timestamp) throws -> Epoch {
        let newest = "SELECT name, firstSequence FROM epoch ORDER BY number DESC LIMIT 1"
        if let current = try db.row(newest, [], Epoch.init(row:)), current.name == name { return current }
        let first = try top().next
        try execute("INSERT INTO epoch (name, firstSequence, startedAt) VALUES (?, ?, ?)", [name, first, at])
        try execute(
            """
            DELETE FROM epoch WHERE number < (
                SELECT max(number) FROM epoch WHERE firstSequence <= (SELECT throughSequence FROM retention)
            ) OR number <= (SELECT max(number) FROM epoch) - ?
            """,
            [Self.maximumEpochs]
        )
        return Epoch(name: name, firstSequence: first)
    }

    package func noteClock(_ at: Timestamp) throws {
        try executeLocally("INSERT OR REPLACE INTO clock VALUES (1, ?)", [at])
    }

    package func extent() throws -> LogExtent {
        LogExtent(
            top: try top(),
            droppedThrough: try db.value("SELECT throughSequence FROM retention") ?? .start
        )
    }

    /// The highest sequence that was assigned.
    func top() throws -> LogSequence { try db.value("SELECT seq FROM sqlite_sequence WHERE name = 'log'") ?? .start }
}

// MARK: - The log

extension Transaction {
    /// Appends a message.
    ///
    /// `enqueuedAt` is the time at which a scheduled message was accepted; `matched` is the number of recipients, which
    /// ``setMatched(_:sequence:)`` may correct later.
    package func appendMessage(
        _ record: MessageRecord,
        hub: HubKey,
        at: Timestamp,
        enqueuedAt: Timestamp? = nil,
        matched: RecipientCounts? = nil
    ) throws -> LogSequence {
        let own: Columns = ["hubID": hub, "at": at, "enqueuedAt": enqueuedAt, "matched": matched?.record]
        try insert(into: "log", own, record.values)
        return LogSequence(rawValue: db.lastInsertedRowID)
    }

    /// The time at which a message was sent; `nil` if the message is not in the log.
    package func sentMessage(hub: HubKey, id: MessageID) throws -> Timestamp? {
        try db.value(LookupQuery.sent, [hub, id.text])
    }

    /// Corrects the number of recipients of a message; does nothing if the message has been dropped.
    package func setMatched(_ matched: RecipientCounts, sequence: LogSequence) throws {
        try execute("UPDATE log SET matched = ? WHERE sequence = ?", [matched.record, sequence])
    }

    /// Appends a registry change.
    ///
    /// - Returns: Its sequence.
    package func appendChange(hub: HubKey, ordinal: Ordinal, at: Timestamp) throws -> LogSequence {
        try execute("INSERT INTO log (hubID, at, ordinal) VALUES (?, ?, ?)", [hub, at, ordinal])
        return LogSequence(rawValue: db.lastInsertedRowID)
    }

    /// The message that was accepted with an idempotency key, and the hash of its content.
    package func acceptedMessage(hub: HubKey, key: String) throws -> (id: MessageID, contentHash: [UInt8])? {
        try db.row(Query.acceptedMessage, [hub, key]) { row in
            (try MessageID(row["messageID"]), [UInt8](row["contentHash"] as Data))
        }
    }

    package func recordKey(_ key: String, hub: HubKey, message: MessageID, contentHash: [UInt8], at: Timestamp) throws {
        try execute(
            "INSERT INTO idempotencyKey VALUES (?, ?, ?, ?, ?)",
            [hub, key, Data(contentHash), message.text, at]
        )
    }

    /// Moves stored instants after the clock jumped, so that no message becomes older or younger by the jump.
    ///
    /// Moves only instants in the range `noted`, which the clock can have shown before the jump but not after it. Reads at
    /// most `limit` rows of the log.
    ///
    /// - Returns: The sequence of the last row read; `nil` if there are no more rows.
    package func moveInstants(
        by jump: Duration,
        noted: ClosedRange<Timestamp>,
        after sequence: LogSequence,
        limit: Int
    ) throws -> LogSequence? {
        let sql = "SELECT max(sequence) FROM (SELECT sequence FROM log WHERE sequence > ? ORDER BY sequence LIMIT ?)"
        guard let last: LogSequence = try db.value(sql, [sequence, limit]) else { return nil }
        try execute(
            "UPDATE log SET at = at + ? WHERE sequence > ? AND sequence <= ? AND at BETWEEN ? AND ?",
            [jump.milliseconds, sequence, last, noted.lowerBound, noted.upperBound]
        )
        return last
    }

    /// Moves the expiry of registrations that expire a fixed time after their last write.
    ///
    /// Registrations of installations have an expiry of their own, which stays.
    ///
    /// - Returns: The ordinal of the last row read; `nil` if there are no more rows.
    package func moveRegistrations(
        by jump: Duration,
        noted: ClosedRange<Timestamp>,
        after ordinal: Ordinal,
        limit: Int
    ) throws -> Ordinal? {
        let sql =
            "SELECT max(ordinal) FROM (SELECT ordinal FROM registration WHERE ordinal > ? ORDER BY ordinal LIMIT ?)"
        guard let last: Ordinal = try db.value(sql, [ordinal, limit]) else { return nil }
        try execute(
            """
            UPDATE registration SET expiresAt = expiresAt + ?1, updatedAt = updatedAt + ?1
            WHERE ordinal > ?2 AND ordinal <= ?3 AND expiresAt IS NOT NULL AND installation IS NULL
            AND updatedAt BETWEEN ?4 AND ?5
            """,
            [jump.milliseconds, ordinal, last, noted.lowerBound, noted.upperBound]
        )
        return last
    }

    /// Moves the instants of idempotency keys.
    package func moveKeys(by jump: Duration, noted: ClosedRange<Timestamp>) throws {
        try execute(
            "UPDATE idempotencyKey SET at = at + ? WHERE at BETWEEN ? AND ?",
            [jump.milliseconds, noted.lowerBound, noted.upperBound]
        )
    }

    /// Sets instants of the oldest rows that lie in the future to `now`.
    ///
    /// The hub wrote such rows while its clock was wrong. They would never expire, nor would any row after them. `now`
    /// must come from a trusted clock; `limit` bounds the rows that are read.
    package func endFuture(at now: Timestamp, limit: Int) throws {
        try execute(
            """
            UPDATE log SET at = ?1 WHERE at > ?1 + ?2
            AND sequence IN (SELECT sequence FROM log ORDER BY sequence LIMIT ?3)
            """,
            [now, Self.tolerableFuture, limit]
        )
    }

    /// Milliseconds by which a row may be ahead of the clock.
    private static let tolerableFuture: Int64 = 3_600_000

    package func dropKeys(notedBefore cutoff: Timestamp) throws {
        try execute(Query.dropKeys, [cutoff])
    }
}

// MARK: - Installations

extension Transaction {
    package func installation(hub: HubKey, id: InstallationID) throws -> StoredInstallation? {
        try db.row(Query.installation, [hub, id.folded], StoredInstallation.init(row:))
    }

    /// Finds the `stream` installation whose secret has this hash.
    package func installation(hub: HubKey, channelDigest: [UInt8]) throws -> InstallationID? {
        try db.row(Query.installationOfDigest, [hub, Data(channelDigest)]) { try InstallationID($0[0]) }
    }

    /// Stores a new installation, for which every matching message after its sequence is pending.
    ///
    /// `channelDigest` is the hash of a `stream` installation's secret. `writer` is `nil` for a holder of
    /// Manage.
    package func insert(
        _ installation: Installation,
        channelDigest: [UInt8]?,
        writer: ListenWriter? = nil,
        hub: HubKey,
        at: Timestamp
    ) throws -> InstallationWrite {
        let record = try installation.record
        try insert(
            into: "installation",
            [
                "hubID": hub, "installationID": installation.id.folded, "record": record,
                "channelDigest": channelDigest.map { Data($0) }, "createdSequence": 0,
                "expiresAt": installation.expirationTime.map { Timestamp($0) },
            ]
        )
        let ordinal = Ordinal(rawValue: db.lastInsertedRowID)
        let sequence = try appendChange(hub: hub, ordinal: ordinal, at: at)
        try execute("UPDATE installation SET createdSequence = ? WHERE ordinal = ?", [sequence, ordinal])
        try execute("INSERT INTO owed VALUES (?, ?, ?)", [ordinal, sequence, record])
        let stored = StoredInstallation(
            ordinal: ordinal,
            installation: installation,
            channelDigest: channelDigest,
            createdSequence: sequence
        )
        let changes = try materialise(
            installation,
            replacing: nil,
            charge: Charge.of(installation, record: record, writer: writer),
            writer: writer,
            ordinal: ordinal,
            hub: hub,
            at: at,
            deleted: nil
        )
        return InstallationWrite(stored: stored, sequence: sequence, changes: changes)
    }

    /// Replaces an installation's record, or only its channel.
    ///
    /// If the change is the deletion of one of its registrations, `deleted` is that registration, which leaves no
    /// tombstone. `writer` is `nil` for a holder of Manage.
    package func update(
        _ current: StoredInstallation,
        to installation: Installation,
        channelDigest: [UInt8]?,
        writer: ListenWriter? = nil,
        hub: HubKey,
        at: Timestamp,
        deleted: RegistrationID? = nil
    ) throws -> InstallationWrite {
        let record = try installation.record
        let stored = StoredInstallation(
            ordinal: current.ordinal,
            installation: installation,
            channelDigest: channelDigest,
            createdSequence: current.createdSequence
        )
        let isSame = try record == current.installation.record
        if isSame && channelDigest == current.channelDigest { return InstallationWrite(stored: stored) }
        try execute(
            "UPDATE installation SET record = ?, channelDigest = ?, expiresAt = ? WHERE ordinal = ?",
            [
                record, channelDigest.map { Data($0) }, installation.expirationTime.map { Timestamp($0) },
                current.ordinal,
            ]
        )
        if isSame { return InstallationWrite(stored: stored) }
        if let unused: LogSequence = try db.value(Query.unusedPendingRow, [current.ordinal, hub]) {
            try dropPendingRow(of: current, after: unused)
        }
        let sequence = try appendChange(hub: hub, ordinal: current.ordinal, at: at)
        try execute("INSERT INTO owed VALUES (?, ?, ?)", [current.ordinal, sequence, record])
        try boundPending(to: current)
        let changes = try materialise(
            installation,
            replacing: current.installation,
            charge: Charge.of(installation, record: record, writer: writer),
            writer: writer,
            ordinal: current.ordinal,
            hub: hub,
            at: at,
            deleted: deleted
        )
        return InstallationWrite(stored: stored, sequence: sequence, changes: changes)
    }

    /// Maximum size of one installation's former choices, in bytes: sixteen of the largest or thousands of typical ones.
    ///
    /// Beyond it the oldest are dropped, and their pending messages become a gap, so that no client can fill the disk by
    /// changing its choice again and again.
    package static let maximumPendingBytes = 1 << 20

    private func boundPending(to installation: StoredInstallation) throws {
        let rows: [(after: LogSequence, bytes: Int)] = try db.rows(Query.pendingSizes, [installation.ordinal]) {
            ($0["afterSequence"], $0["bytes"])
        }
        var bytes = 0
        for (index, row) in rows.enumerated() {
            bytes += row.bytes
            // The newest one comes first and is in force.
            if index > 0, bytes > Self.maximumPendingBytes { try dropPendingRow(of: installation, after: row.after) }
        }
    }

    /// Drops a former choice and its row of the log.
    ///
    /// The first row of an installation stays: it holds the time of its creation.
    private func dropPendingRow(of installation: StoredInstallation, after sequence: LogSequence) throws {
        try execute("DELETE FROM owed WHERE ordinal = ? AND afterSequence = ?", [installation.ordinal, sequence])
        guard sequence != installation.createdSequence else { return }
        try execute("DELETE FROM log WHERE sequence = ? AND ordinal = ?", [sequence, installation.ordinal])
    }

    /// Removes an installation, its registrations and the record of its pending messages.
    ///
    /// If the change is the deletion of one of its registrations, `deleted` is that registration; the others leave
    /// tombstones.
    package func delete(
        _ installation: StoredInstallation,
        hub: HubKey,
        at: Timestamp,
        deleted: RegistrationID? = nil
    ) throws -> (sequence: LogSequence, changes: [TargetChange]) {
        try forgetChanges(of: installation)
        let sequence = try appendChange(hub: hub, ordinal: installation.ordinal, at: at)
        let changes = try endRegistrations(
            ofInstallation: installation.ordinal,
            hub: hub,
            at: at,
            deleted: deleted
        )
        try execute("DELETE FROM installation WHERE ordinal = ?", [installation.ordinal])
        return (sequence, changes)
    }

    /// Stores how far a stream was written; does nothing if the installation is gone.
    ///
    /// - Returns: Everything that is known of the stream.
    @discardableResult
    package func note(_ newer: StreamProgress) throws -> StreamProgress {
        let known = try HubStore.progress(db, ordinal: newer.ordinal)
        let progress = StreamProgress.merged(known, newer) ?? newer
        try put(progress)
        return progress
    }

    /// Stores how far another node has written a stream, unless the installation has connected since then.
    package func note(elsewhere report: StreamProgress) throws {
        try put(.latest(try HubStore.progress(db, ordinal: report.ordinal), report))
    }

    private func put(_ progress: StreamProgress) throws {
        try executeLocally(
            """
            INSERT OR REPLACE INTO streamProgress
                (ordinal, written, resumedFrom, connectedAt, disconnectedAt, replacedAt, revokedAt)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
            WHERE EXISTS (SELECT 1 FROM installation WHERE ordinal = ?1)
            """,
            [
                progress.ordinal, progress.written, progress.resumedFrom, progress.connectedAt,
                progress.disconnectedAt, progress.replacedAt, progress.revokedAt,
            ]
        )
    }

    /// Replaces the set of categories that one publisher announces.
    package func setCategories(_ names: [String], publisher: String, hub: HubKey) throws {
        try execute("DELETE FROM category WHERE hubID = ? AND publisher = ?", [hub, publisher])
        for (position, name) in names.enumerated() {
            try execute("INSERT INTO category VALUES (?, ?, ?, ?)", [hub, publisher, position, name])
        }
    }
}
