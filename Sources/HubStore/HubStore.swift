import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

/// The hub's one SQLite file: its log, installations, rules and what they are owed.
///
/// Reads take a snapshot and run beside the writer. Everything that changes goes through ``commit(_:)``, which the
/// hub's one writer calls.
///
/// The log's operations, which another engine could stand behind:
/// ``Transaction/appendMessage(_:hub:at:enqueuedAt:matched:)`` and ``Transaction/appendChange(hub:ordinal:at:)`` append,
/// ``owedMessages(hub:ordinal:after:through:limit:)`` reads on from a place, ``extent()`` tells how far it reaches.
package final class HubStore: Sendable {
    let pool: DatabasePool
    private let rehearses: Bool

    /// Opens the file, making or migrating it.
    ///
    /// - Parameters:
    ///   - path: The SQLite file; its folder must be there.
    ///   - maximumPages: The most pages of 4 KiB the file may have, `nil` for no limit. A file at its limit behaves as
    ///     on a full disk.
    ///   - reservedTags: Prefixes of tags that a migration must not give to anybody.
    ///   - secrets: Encrypts credentials; `nil` leaves them unencrypted, and those that are encrypted unread.
    ///   - rehearses: Each member of a commit runs twice, the first time in vain, to show that it can be repeated.
    /// - Throws: ``HubStoreError`` when the file is newer than this program or cannot be made durable, else a
    ///   `DatabaseError`.
    package init(
        path: String,
        maximumPages: Int? = nil,
        reservedTags: ReservedTagPrefixes = .standard,
        secrets: SecretBox? = nil,
        rehearses: Bool = false
    ) throws {
        self.rehearses = rehearses
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.label = "hub"
        let logPages = WriteAheadLog.pages(
            onDiskOf: DiskSpace(at: URL(filePath: path).deletingLastPathComponent().path)
        )
        configuration.prepareDatabase { db in
            SecretBox.register(secrets, in: db)
            try db.execute(sql: "PRAGMA wal_autocheckpoint = \(logPages)")
            // Without a limit the file keeps the size of the largest commit.
            try db.execute(sql: "PRAGMA journal_size_limit = \(logPages * WriteAheadLog.pageBytes)")
            if let maximumPages { try db.execute(sql: "PRAGMA max_page_count = \(maximumPages)") }
        }
        pool = try DatabasePool(path: path, configuration: configuration)
        let migrator = Schema.migrator(reservedTags: reservedTags)
        let isNewer = try pool.read { db in try migrator.hasBeenSuperseded(db) }
        guard !isNewer else { throw HubStoreError.newerSchema(path: path) }
        try migrator.migrate(pool)
        // GRDB sets NORMAL after `prepareDatabase`; an accepted message must survive a power cut.
        let synchronous = try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            return try Int.fetchOne(db, sql: "PRAGMA synchronous")
        }
        guard synchronous == 2 else { throw HubStoreError.notDurable(path: path) }
        // What an older version has written.
        if secrets != nil { try pool.write { try $0.execute(sql: HubQuery.sealAll) } }
    }

    /// Hubs whose credentials another key has encrypted.
    package func hubsWithLostSecrets() async throws -> [HubRecord] {
        try await pool.read { db in
            try Row.fetchAll(db, sql: HubQuery.lostSecrets).map { row in
                HubRecord(id: row["hubID"], name: try HubName(row["name"]))
            }
        }
    }

    /// Looks at a hub's file without changing it.
    ///
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at path: String) -> String? {
        DatabaseFile.problem(at: path, keptBy: Schema.migrator)
    }

    /// Closes the file and leaves it whole: a copy of this one file is a backup.
    package func close() throws {
        // SQLite moves the write-ahead log into the file when the last connection closes that may write; GRDB would
        // close the writer first.
        pool.invalidateReadOnlyConnections()
        try pool.close()
    }

    /// Runs many changes in one durable transaction.
    ///
    /// Each member has a savepoint: when one throws, its own changes are undone and the others go on.
    ///
    /// - Returns: A result for each member, in order.
    /// - Throws: When the disk is full or fails, or the commit does; then nothing of any member is kept.
    package func commit<Output: Sendable>(
        _ members: [@Sendable (Transaction) throws -> Output]
    ) async throws -> [Result<Output, any Error>] {
        try await pool.writeWithoutTransaction { [rehearses] db in
            var results: [Result<Output, any Error>] = []
            results.reserveCapacity(members.count)
            try db.inTransaction(.immediate) {
                for member in members {
                    if rehearses { _ = try Self.run(member, in: db, isRehearsal: true) }
                    results.append(try Self.run(member, in: db))
                }
                return .commit
            }
            return results
        }
    }

    private static func run<Output>(
        _ member: (Transaction) throws -> Output,
        in db: Database,
        isRehearsal: Bool = false
    ) throws -> Result<Output, any Error> {
        // Statements that are kept: GRDB's own savepoints are compiled anew each time.
        try db.cachedStatement(sql: "SAVEPOINT member").execute()
        let result: Result<Output, any Error>
        do {
            let output = try member(Transaction(db))
            if isRehearsal { try db.cachedStatement(sql: "ROLLBACK TO SAVEPOINT member").execute() }
            result = .success(output)
        } catch let error as DatabaseError where error.resultCode != .SQLITE_CONSTRAINT {
            // A full or failing disk may have ended the whole transaction: no member may believe in it.
            throw error
        } catch {
            try db.cachedStatement(sql: "ROLLBACK TO SAVEPOINT member").execute()
            result = .failure(error)
        }
        try db.cachedStatement(sql: "RELEASE SAVEPOINT member").execute()
        return result
    }
}

/// Why the hub's file cannot be used.
package enum HubStoreError: Error, CustomStringConvertible {
    case newerSchema(path: String)
    case notDurable(path: String)
    case unreadableRecord

    package var description: String {
        switch self {
        case .newerSchema(let path):
            "cannot use '\(path)': a newer version of newswire has written it; install that version or restore a backup"
        case .notDurable(let path): "cannot use '\(path)': SQLite refuses synchronous=FULL for it"
        case .unreadableRecord: "its record is not what this program writes"
        }
    }
}

// MARK: - Reading

extension HubStore {
    package func hubs() async throws -> [HubRecord] {
        try await pool.read { db in
            try Row.fetchAll(db, sql: "SELECT hubID, name FROM hub WHERE deletedAt IS NULL ORDER BY hubID").map { row in
                HubRecord(id: row["hubID"], name: try HubName(row["name"]))
            }
        }
    }

    package func accessRules(hub: HubKey) async throws -> [AccessRule] {
        try await pool.read { db in
            let sql = "SELECT name, primaryKey, secondaryKey, rights FROM accessRule WHERE hubID = ? ORDER BY name"
            return try Row.fetchAll(db, sql: sql, arguments: [hub]).map(AccessRule.init(row:))
        }
    }

    package func epochs() async throws -> [Epoch] {
        try await pool.read { db in
            try Row.fetchAll(db, sql: "SELECT name, firstSequence FROM epoch ORDER BY number").map { row in
                Epoch(name: row["name"], firstSequence: row["firstSequence"])
            }
        }
    }

    package func extent() async throws -> LogExtent {
        try await pool.read { db in try Transaction(db).extent() }
    }

    package func logSize() async throws -> LogSize {
        try await pool.read { db in
            let row = try Row.fetchOne(db, sql: "SELECT countedThrough, countedBytes, bySize FROM retention")
            let (through, counted): (LogSequence?, Int64?) = (row?["countedThrough"], row?["countedBytes"])
            let added = try Int64.fetchOne(db, sql: Query.bytesAfter, arguments: [through ?? .start]) ?? 0
            return LogSize(
                bytes: (counted ?? 0) + added,
                oldest: try Timestamp.fetchOne(db, sql: "SELECT at FROM log ORDER BY sequence LIMIT 1"),
                droppedBySize: row?["bySize"] ?? 0
            )
        }
    }

    /// The wall clock when it was last noted down.
    package func lastSeenClock() async throws -> Timestamp? {
        try await pool.read { db in try Timestamp.fetchOne(db, sql: "SELECT lastSeen FROM clock") }
    }

    /// Hands every `stream` installation of a hub to `reduce`, in the order of their ordinals.
    package func reduceStreams<Result: Sendable>(
        hub: HubKey,
        into result: consuming Result,
        _ reduce: @Sendable (inout Result, StoredInstallation) throws -> Void
    ) async throws -> Result {
        try await pool.read { [result] db in
            var result = result
            let rows = try Row.fetchCursor(db, sql: Query.streams, arguments: [hub])
            while let row = try rows.next() { try reduce(&result, try StoredInstallation(row: row)) }
            return result
        }
    }

    package func installation(hub: HubKey, id: InstallationID) async throws -> StoredInstallation? {
        try await pool.read { db in try Transaction(db).installation(hub: hub, id: id) }
    }

    /// Messages of a hub in the order of the log, with what one installation was owed when they came; those in formats of
    /// push platforms, which no stream is owed, are left out.
    ///
    /// Returns at most `limit` messages with sequences above `after`, up to and with `through`; fewer mean that there are
    /// no more.
    package func owedMessages(
        hub: HubKey,
        ordinal: Ordinal,
        after: LogSequence,
        through: LogSequence,
        limit: Int
    ) async throws -> OwedMessages {
        try await pool.read { db in
            OwedMessages(
                rows: try Self.owedRows(db, ordinal: ordinal),
                messages: try Self.messages(db, hub: hub, after: after, through: through, limit: limit),
                createdSequence: try LogSequence.fetchOne(
                    db,
                    sql: "SELECT createdSequence FROM installation WHERE ordinal = ?",
                    arguments: [ordinal]
                ),
                droppedThrough: try LogSequence.fetchOne(db, sql: "SELECT throughSequence FROM retention") ?? 0
            )
        }
    }

    static func owedRows(_ db: Database, ordinal: Ordinal) throws -> [OwedRow] {
        let rows = try Row.fetchCursor(try db.cachedStatement(sql: Query.owedRows), arguments: [ordinal])
        return try Array(rows.map { OwedRow(row: $0) })
    }

    private static func messages(
        _ db: Database,
        hub: HubKey,
        after: LogSequence,
        through: LogSequence,
        limit: Int
    ) throws -> [LoggedMessage] {
        let statement = try db.cachedStatement(sql: Query.messages)
        let rows = try Row.fetchCursor(statement, arguments: [hub, after, through, limit])
        return try Array(rows.map(LoggedMessage.init(row:)))
    }

    /// The categories that publishers announce, each name once, in the order in which they came.
    package func categories(hub: HubKey) async throws -> [String] {
        try await pool.read { db in
            let sql = "SELECT name FROM category WHERE hubID = ? ORDER BY publisher, position"
            return try String.fetchAll(db, sql: sql, arguments: [hub])
        }
    }
}

/// The statements of the hot paths, apart so that a test can ask for their plans.
enum Query {
    static let owedRows = "SELECT afterSequence, record FROM owed WHERE ordinal = ? ORDER BY afterSequence"
    static let messages = """
        SELECT sequence, \(MessageRecord.columns) FROM log
        WHERE hubID = ? AND sequence > ? AND sequence <= ? AND messageID IS NOT NULL
            AND (format IS NULL OR format = 'stream')
        ORDER BY sequence LIMIT ?
        """
    static let installation = """
        SELECT ordinal, installationID, record, channelDigest, createdSequence FROM installation
        WHERE hubID = ? AND installationID = ?
        """
    static let streams = """
        SELECT ordinal, installationID, record, channelDigest, createdSequence FROM installation
        WHERE hubID = ? AND channelDigest IS NOT NULL ORDER BY ordinal
        """
    static let installationOfDigest = """
        SELECT installationID FROM installation WHERE hubID = ? AND channelDigest = ? AND channelDigest IS NOT NULL
        """
    static let acceptedMessage = "SELECT messageID, contentHash FROM idempotencyKey WHERE hubID = ? AND key = ?"
    static let dropKeys = "DELETE FROM idempotencyKey WHERE at < ?"
    /// An owed row is of no use when no message came between it and the next one.
    static let unusedOwedRow = """
        SELECT afterSequence FROM owed WHERE ordinal = ?1
        AND afterSequence = (SELECT max(afterSequence) FROM owed WHERE ordinal = ?1)
        AND NOT EXISTS (
            SELECT 1 FROM log WHERE hubID = ?2 AND messageID IS NOT NULL AND log.sequence > owed.afterSequence)
        """
    static let owedSizes = """
        SELECT afterSequence, length(record) AS bytes FROM owed WHERE ordinal = ? ORDER BY afterSequence DESC
        """
    static let oldestRows = """
        SELECT sequence, at, \(MessageRecord.rowBytes) AS bytes, ordinal FROM log
        ORDER BY sequence LIMIT ?
        """
    static let bytesAfter = "SELECT sum(\(MessageRecord.rowBytes)) FROM log WHERE sequence > ?"
    static let dropOwed = "DELETE FROM owed WHERE ordinal = ? AND afterSequence < ?"
}

extension StoredInstallation {
    init(row: Row) throws {
        let digest: Data? = row["channelDigest"]
        let known = try? Installation(record: row["record"])
        // Only a 'stream' installation has a digest, and it must not become anybody's because its record is spoilt.
        let platform = digest == nil ? Platform(rawValue: "unreadable") : .stream
        self.init(
            ordinal: row["ordinal"],
            installation: try known
                ?? Installation(id: InstallationID(row["installationID"]), platform: platform, pushChannel: nil),
            channelDigest: digest.map { [UInt8]($0) },
            createdSequence: row["createdSequence"],
            isReadable: known != nil
        )
    }
}

extension Installation {
    /// Reads what ``record`` wrote.
    init(record: Data) throws {
        self = try JSONDecoder().decode(Installation.self, from: record)
    }

    /// The installation as the store keeps it: without a `stream` installation's secret.
    var record: Data {
        get throws {
            var kept = self
            if platform == .stream { kept.pushChannel = nil }
            return try JSONEncoder.sorted.encode(kept)
        }
    }
}
