import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

/// A number that is stored both in the database and in a file next to it.
///
/// The number is increased in the database first and in the file second, so after a crash the file may be behind but
/// never ahead. A file that is ahead has seen a newer state of the database.
package struct Generation: Sendable, Equatable {
    /// Random; the same in a database and its copies.
    package let lineage: String
    package let number: Int64
    /// The number that the file was last known to hold; `nil` before the file was first written.
    package let inFile: Int64?

    package init(lineage: String, number: Int64, inFile: Int64?) {
        self.lineage = lineage
        self.number = number
        self.inFile = inFile
    }
}

// MARK: - Writing

extension Transaction {
    /// True if the database is a copy that ``HubBackup`` has written, and no hub has started with it since.
    package func isCopy() throws -> Bool {
        try Int.fetchOne(db, sql: "PRAGMA user_version") == HubBackup.copyMark
    }

    /// Removes the mark of a copy.
    package func clearCopyMark() throws { try db.execute(sql: "PRAGMA user_version = 0") }

    /// Records that messages may have been lost at the end of the log.
    ///
    /// The loss takes the next sequence. It replaces earlier losses that no message follows, so that readers get one
    /// gap.
    package func noteLoss(epoch: String, at: Timestamp) throws -> Loss {
        let sequence = try takeSequence()
        let lastRow: Timestamp? = try db.value("SELECT at FROM log ORDER BY sequence DESC LIMIT 1")
        let lastSeen: Timestamp? = try db.value("SELECT lastSeen FROM clock")
        let atEnd = "FROM loss WHERE sequence > (SELECT coalesce(max(sequence), 0) FROM log)"
        let earlier: Timestamp? = try db.value("SELECT min(since) \(atEnd)")
        try execute("DELETE \(atEnd)", [])
        let since = earlier ?? [lastRow, lastSeen].compactMap { $0 }.max()
        try execute("INSERT INTO loss VALUES (?, ?, ?, ?)", [sequence, epoch, since, at])
        return Loss(sequence: sequence, epoch: epoch, since: since, foundAt: at)
    }

    /// Takes the next sequence of the log without adding a row.
    private func takeSequence() throws -> LogSequence {
        let next = try top().next
        try execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'log'", [next])
        if db.changesCount == 0 { try execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('log', ?)", [next]) }
        return next
    }

    /// The number that is also stored in the file next to the database; `nil` before the first start.
    package func generation() throws -> Generation? {
        try db.row("SELECT lineage, number, inFile FROM generation") {
            Generation(lineage: $0["lineage"], number: $0["number"], inFile: $0["inFile"])
        }
    }

    package func set(_ generation: Generation) throws {
        try executeLocally(
            "INSERT OR REPLACE INTO generation VALUES (1, ?, ?, ?)",
            [generation.lineage, generation.number, generation.inFile]
        )
    }
}

// MARK: - Room

extension Transaction {
    /// Throws the error of a full disk if a file with a size limit has no room for this many bytes.
    package func requireRoom(bytes: Int) throws {
        guard bytes > 0 else { return }
        func pragma(_ name: String) throws -> Int { try Int.fetchOne(db, sql: "PRAGMA \(name)") ?? 0 }
        let pages = try pragma("max_page_count") - pragma("page_count") + pragma("freelist_count")
        guard try pages >= bytes / pragma("page_size") else { throw DatabaseError(resultCode: .SQLITE_FULL) }
    }
}

// MARK: - Reading

extension HubStore {
    /// The sequences at which messages may be missing, in log order.
    package func losses() async throws -> [Loss] {
        try await rows("SELECT sequence, epoch, since, foundAt FROM loss ORDER BY sequence") {
            Loss(sequence: $0["sequence"], epoch: $0["epoch"], since: $0["since"], foundAt: $0["foundAt"])
        }
    }
}
