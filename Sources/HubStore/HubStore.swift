import Formats
import Foundation
import GRDB
package import HostSystem
package import HubProtocol
package import HubRouting
import SQLiteFiles

/// The hub's SQLite file: its log, installations, rules, and the pending messages of installations.
///
/// Reads take a snapshot and run concurrently with the writer. All changes go through ``commit(_:effects:foreign:)``,
/// which only the hub's writer calls, and run in ``writerThread``.
///
/// An ``OrderedLog`` orders the commits.
package final class HubStore: Sendable {
    let pool: DatabasePool
    /// The only thread that changes the file.
    ///
    /// Tasks that prefer it continue there after a commit, without switching threads.
    package let writerThread: ThreadExecutor
    private let rehearses: Bool
    /// True for the file of a node that is used without its log.
    private let isReadOnly: Bool
    /// `nil` if no other node reads the log.
    private let follower: LogFollower?
    /// A database that follows a log makes each migration at its place in the log.
    private let migrator: DatabaseMigrator

    /// Opens the file; creates or migrates it if necessary, unless it follows a log, which says when it is migrated.
    ///
    /// - Parameters:
    ///   - path: The SQLite file; its folder must exist.
    ///   - maximumPages: The maximum number of 4 KiB pages of the file, `nil` for no limit. A file at its limit behaves
    ///     as if the disk were full.
    ///   - reservedTags: Prefixes of tags that a migration must not add to an installation.
    ///   - secrets: Encrypts credentials; `nil` stores new ones unencrypted, and cannot read encrypted ones.
    ///   - log: Orders this node's commits among those of other nodes.
    ///   - rehearses: Runs each member of a commit twice and rolls back the first run, to show that members can be
    ///     repeated; refuses statements that are not deterministic.
    ///   - signs: Files that exist only if a hub has used the file: without its content, it is then refused.
    /// - Throws: `DatabaseFileError` if the file cannot be used; ``HubStoreError`` if its log is needed; otherwise a
    ///   `DatabaseError`.
    package convenience init(
        path: String,
        maximumPages: Int? = nil,
        reservedTags: ReservedTagPrefixes = .standard,
        secrets: SecretBox? = nil,
        log: any OrderedLog = EmbeddedLog(),
        rehearses: Bool = false,
        signs: [String] = []
    ) throws {
        try self.init(
            path: path,
            migrator: Schema.migrator(reservedTags: reservedTags),
            maximumPages: maximumPages,
            secrets: secrets,
            log: log,
            rehearses: rehearses,
            signs: signs
        )
    }

    /// Opens the file, whose schema `migrator` makes.
    init(
        path: String,
        migrator: DatabaseMigrator,
        maximumPages: Int? = nil,
        secrets: SecretBox? = nil,
        log: any OrderedLog = EmbeddedLog(),
        rehearses: Bool = false,
        signs: [String] = []
    ) throws {
        self.rehearses = rehearses
        writerThread = try ThreadExecutor()
        self.migrator = migrator
        follower = log.identity.map { LogFollower(log, as: $0, schema: migrator.migrations.count) }
        let logPages = WriteAheadLog.pages(
            onDiskOf: DiskSpace(at: URL(filePath: path).deletingLastPathComponent().path)
        )
        var opener = Self.opener(migrator, signs: signs)
        opener.prepare = { db in
            SecretBox.register(secrets, in: db)
            try db.execute(sql: "PRAGMA wal_autocheckpoint = \(logPages)")
            // Without a limit the file keeps the size of the largest commit.
            try db.execute(sql: "PRAGMA journal_size_limit = \(logPages * WriteAheadLog.pageBytes)")
            if let maximumPages { try db.execute(sql: "PRAGMA max_page_count = \(maximumPages)") }
        }
        pool = try opener.pool(at: path)
        let hasLog = follower != nil
        let waitsForLog = try pool.read { db in
            guard try !migrator.hasCompletedMigrations(db) else { return false }
            // A file without content gets the schema of the log's first entry.
            return try Transaction(db).followsLog() || (hasLog && Transaction(db).isNew())
        }
        guard hasLog || !waitsForLog else { throw HubStoreError.awaitsLog(path: path) }
        if !waitsForLog { try opener.migrate(pool) }
        let (place, schema) = try pool.read { db in
            let place = try Transaction(db).followsLog() ? Transaction(db).logPlace() : .beginning
            return (place, try migrator.appliedIdentifiers(db).count)
        }
        isReadOnly = follower == nil && place != .beginning
        follower?.note(LogHead(number: place.number, node: nil))
        follower?.note(schema: schema)
    }

    /// The hubs whose credentials were encrypted with another key.
    package func hubsWithLostSecrets() async throws -> [HubRecord] { try await read { try $0.hubsWithLostSecrets() } }

    /// Checks a hub's file without changing it.
    ///
    /// - Returns: The reason why the file cannot be used; `nil` if it can.
    package static func problem(at path: String, signs: [String]) -> String? { opener(signs: signs).problem(at: path) }

    /// Checks a hub's file without changing it.
    ///
    /// - Throws: `DatabaseFileError` if it cannot be used.
    package static func check(_ path: String, signs: [String]) throws { try opener(signs: signs).check(path) }

    /// True if a file's content is gone, or was never there.
    ///
    /// - Throws: `DatabaseFileError` if that is unknown, as for a file that this user cannot read.
    package static func isGone(_ path: String) throws -> Bool { try opener(signs: []).isGone(path) }

    private static func opener(_ migrator: DatabaseMigrator = Schema.migrator, signs: [String]) -> DatabaseOpener {
        var opener = DatabaseOpener(migrator)
        opener.signs = signs
        opener.isUnused = { try Transaction($0).isNew() }
        return opener
    }

    /// Closes the file and empties its write-ahead log, so that a copy of the file alone is a backup.
    package func close() throws {
        // SQLite checkpoints the write-ahead log when the last connection closes, if it may write. GRDB would close
        // the writer first.
        pool.invalidateReadOnlyConnections()
        try pool.close()
    }

    /// Runs many changes in one durable transaction.
    ///
    /// Each member has a savepoint: if it throws, its own changes are undone and the others continue. If several nodes
    /// share the log, the members run again when another node committed first.
    ///
    /// - Parameters:
    ///   - members: The changes.
    ///   - effects: Derives the effects of a change from the result of its member.
    ///   - foreign: Receives the effects of entries that other nodes have written, before members run after them;
    ///     called on the database's thread.
    /// - Returns: A result for each member, in order; `DatabaseFileError` for a member that SQLite could not run.
    /// - Throws: An error if the disk is full or fails, or the commit fails; no change of any member is then kept.
    package func commit<Output: Sendable>(
        _ members: [@Sendable (Transaction) throws -> Output],
        effects: @escaping @Sendable (Output) -> [NamespaceEffect] = { _ in [] },
        foreign: @escaping LogFollower.Foreign = { _ in }
    ) async throws -> [Result<Output, any Error>] {
        let group = GroupCommit(path: pool.path, members: members, effects: effects, rehearses: rehearses)
        guard !isReadOnly else { throw HubStoreError.sharedLog(path: pool.path) }
        return try await write { [follower] db in
            guard let follower else { return try group.run(db) }
            return try follower.commit(group, db, foreign)
        }
    }

    /// Runs `change` in the thread that writes; a cancelled task changes nothing, unless it has begun.
    private func write<Output: Sendable>(_ change: @Sendable (Database) throws -> Output) async throws -> Output {
        try await withTaskExecutorPreference(writerThread) {
            try Task.checkCancellation()
            // The synchronous call stays in this thread.
            func run() throws -> Output { try pool.writeWithoutTransaction(change) }
            return try run()
        }
    }

    /// The name of the log that this node shares with others; `nil` with an embedded log.
    package var incarnation: String? { follower?.identity.incarnation }

    /// This node's place in the log; `nil` with an embedded log.
    package var logState: LogState? { follower?.known }

    /// Checks that the file belongs to its log, before anything follows or writes it.
    ///
    /// The content of the first node of an empty log becomes the log's beginning.
    ///
    /// - Throws: ``OrderedLogError``.
    package func join() async throws {
        guard let follower else { return }
        let isFirst = try await write { db in try follower.join(db) }
        if isFirst { try migrate(follower, to: migrator.migrations.count) }
    }

    /// Number of migrations of this version.
    package var schema: Int { migrator.migrations.count }

    /// True if the database has the schema of an earlier version, since the log has no entry of this one yet.
    package var awaitsUpgrade: Bool { follower.map { $0.schema < schema } ?? false }

    /// Changes the log, and this database, to the schema of this version.
    ///
    /// Nodes of earlier versions stop at the entry that says so. Does nothing if another node has been first, or if
    /// `isDue` is false when this node has followed the log to its end.
    package func upgradeLog(isDue: () -> Bool = { true }) async throws {
        guard let follower, awaitsUpgrade else { return }
        try await follow { _ in }
        guard awaitsUpgrade, isDue() else { return }
        try await write { db in try follower.appendUpgrade(db) }
        try await follow { _ in }
    }

    private func migrate(_ follower: LogFollower, to schema: Int) throws {
        if try schema > pool.read(migrator.appliedIdentifiers).count {
            try migrator.migrate(pool, upTo: migrator.migrations[schema - 1])
        }
        follower.note(schema: try pool.read(migrator.appliedIdentifiers).count)
    }

    /// The name of this node among those of the log; `nil` with an embedded log.
    package var node: String? { follower?.identity.node }

    /// The newest entry of the log that the database has.
    package var head: LogHead { logState?.head ?? LogHead(number: 0, node: nil) }

    /// The number of the newest entry that the log is known to have, which the database may still lack.
    package var newestEntry: UInt64 { follower?.newestEntry ?? 0 }

    /// Replays the entries that other nodes have written; does nothing with an embedded log.
    ///
    /// `foreign` receives the effects of each entry, on the database's thread.
    package func follow(to goal: LogGoal = .end, _ foreign: @escaping LogFollower.Foreign) async throws {
        guard let follower else { return }
        while true {
            do {
                return try await write { db in try follower.catchUp(db, to: goal, foreign) }
            } catch let pending as PendingMigration {
                try migrate(follower, to: pending.schema)
            }
        }
    }
}

/// An error that prevents the use of the hub's file.
package enum HubStoreError: Error, CustomStringConvertible {
    /// The hub shares its log with other nodes, and a write by this process would reach none of their databases.
    case sharedLog(path: String)
    /// All nodes change the schema at the same entry of the log.
    case awaitsLog(path: String)
    case unreadableRecord
    /// A bug in this program: another node could not replay the statement.
    case notDeterministic(sql: String, reason: String)

    package var description: String {
        switch self {
        case .sharedLog(let path):
            """
            cannot write '\(path)' without its log, which other hubs follow too: set 'log-servers' in the section \
            'hub' of the configuration, or detach the file from the log with 'newswire hub log leave'
            """
        case .awaitsLog(let path):
            """
            cannot use '\(path)' without its log: an earlier version of newswire has written it, and the log says when its \
            schema changes; start the hub with 'log-servers' in the section 'hub' of the configuration, and wait until the \
            last hub of the earlier version has stopped, or detach the file from the log with 'newswire hub log leave'
            """
        case .unreadableRecord: "the record is not in a form that this program writes"
        case .notDeterministic(let sql, let reason): "cannot record '\(sql)': \(reason)"
        }
    }
}

// MARK: - Reading

extension HubStore {
    package func hubs() async throws -> [HubRecord] {
        try await rows("SELECT hubID, name FROM hub WHERE deletedAt IS NULL ORDER BY hubID", [], HubRecord.init(row:))
    }

    package func accessRules(hub: HubKey) async throws -> [AccessRule] {
        let sql = "SELECT name, primaryKey, secondaryKey, rights FROM accessRule WHERE hubID = ? ORDER BY name"
        return try await rows(sql, [hub], AccessRule.init(row:))
    }

    package func epochs() async throws -> [Epoch] {
        try await rows("SELECT name, firstSequence FROM epoch ORDER BY number", [], Epoch.init(row:))
    }

    package func extent() async throws -> LogExtent { try await read { try $0.extent() } }

    package func logSize() async throws -> LogSize {
        try await snapshot { db in
            let row = try Row.fetchOne(db, sql: "SELECT countedThrough, countedBytes, bySize FROM retention")
            let (through, counted): (LogSequence?, Int64?) = (row?["countedThrough"], row?["countedBytes"])
            let added: Int64 = try db.value(Query.bytesAfter, [through ?? .start]) ?? 0
            return LogSize(
                bytes: (counted ?? 0) + added,
                oldest: try db.value("SELECT at FROM log ORDER BY sequence LIMIT 1"),
                droppedBySize: row?["bySize"] ?? 0
            )
        }
    }

    /// The last stored time of the wall clock.
    package func lastSeenClock() async throws -> Timestamp? { try await value("SELECT lastSeen FROM clock") }

    /// Calls `reduce` with every `stream` installation of a hub, in the order of their ordinals.
    package func reduceStreams<Result: Sendable>(
        hub: HubKey,
        into result: consuming Result,
        _ reduce: @Sendable (inout Result, StoredInstallation) throws -> Void
    ) async throws -> Result {
        try await snapshot { [result] db in
            var result = result
            let rows = try Row.fetchCursor(db, sql: Query.streams, arguments: [hub])
            while let row = try rows.next() { try reduce(&result, try StoredInstallation(row: row)) }
            return result
        }
    }

    /// Reads `stream` installations of a hub in the order of their ordinals, at most `limit` after a given one.
    package func streams(hub: HubKey, after ordinal: Ordinal, limit: Int) async throws -> [StoredInstallation] {
        try await rows(Query.streamsPage, [hub, ordinal, limit], StoredInstallation.init(row:))
    }

    package func installation(hub: HubKey, id: InstallationID) async throws -> StoredInstallation? {
        try await read { try $0.installation(hub: hub, id: id) }
    }

    /// The messages of a hub in log order, with the rows that decide which of them are pending for one installation.
    ///
    /// Messages in formats of push platforms, which streams never get, are left out.
    ///
    /// Returns at most `limit` messages with sequences above `after`, up to and including `through`. Fewer messages
    /// mean that there are no more.
    package func pendingMessages(
        hub: HubKey,
        ordinal: Ordinal,
        after: LogSequence,
        through: LogSequence,
        limit: Int
    ) async throws -> PendingMessages {
        try await snapshot { db in
            PendingMessages(
                rows: try Self.pendingRows(db, ordinal: ordinal),
                messages: try db.rows(Query.messages, [hub, after, through, limit], LoggedMessage.init(row:)),
                createdSequence: try db.value(
                    "SELECT createdSequence FROM installation WHERE ordinal = ?",
                    [ordinal]
                ),
                droppedThrough: try db.value("SELECT throughSequence FROM retention") ?? 0
            )
        }
    }

    static func pendingRows(_ db: Database, ordinal: Ordinal) throws -> [PendingRow] {
        try db.rows(Query.pendingRows, [ordinal], PendingRow.init(row:))
    }

    /// The categories that publishers announce, by publisher and in the publisher's order.
    package func categories(hub: HubKey) async throws -> [String] {
        try await rows("SELECT name FROM category WHERE hubID = ? ORDER BY publisher, position", [hub]) { $0[0] }
    }
}

/// Statements of the hot paths, in one place so that a test can check their query plans.
enum Query {
    static let pendingRows = "SELECT afterSequence, record FROM owed WHERE ordinal = ? ORDER BY afterSequence"
    static let messages = """
        SELECT sequence, \(MessageRecord.columns) FROM log
        WHERE hubID = ? AND sequence > ? AND sequence <= ? AND messageID IS NOT NULL
            AND (format IS NULL OR format = 'stream')
        ORDER BY sequence LIMIT ?
        """
    private static let installations = """
        SELECT ordinal, installationID, record, channelDigest, createdSequence, expiresAt FROM installation
        """
    static let installation = "\(installations) WHERE hubID = ? AND installationID = ?"
    static let streams = "\(installations) WHERE hubID = ? AND channelDigest IS NOT NULL ORDER BY ordinal"
    static let streamsPage = """
        \(installations) WHERE hubID = ? AND channelDigest IS NOT NULL AND ordinal > ? ORDER BY ordinal LIMIT ?
        """
    static let installationOfOrdinal = "\(installations) WHERE ordinal = ?"
    static let message = """
        SELECT sequence, \(MessageRecord.columns) FROM log WHERE sequence = ? AND messageID IS NOT NULL
        """
    static let installationOfDigest = """
        SELECT installationID FROM installation WHERE hubID = ? AND channelDigest = ? AND channelDigest IS NOT NULL
        """
    static let acceptedMessage = "SELECT messageID, contentHash FROM idempotencyKey WHERE hubID = ? AND key = ?"
    static let dropKeys = "DELETE FROM idempotencyKey WHERE at < ?"
    /// Finds the newest row of `owed` of an installation if no message came after it: a newer row makes it useless.
    static let unusedPendingRow = """
        SELECT afterSequence FROM owed WHERE ordinal = ?1
        AND afterSequence = (SELECT max(afterSequence) FROM owed WHERE ordinal = ?1)
        AND NOT EXISTS (
            SELECT 1 FROM log WHERE hubID = ?2 AND messageID IS NOT NULL AND log.sequence > owed.afterSequence)
        """
    static let pendingSizes = """
        SELECT afterSequence, length(record) AS bytes FROM owed WHERE ordinal = ? ORDER BY afterSequence DESC
        """
    static let oldestRows = """
        SELECT sequence, at, \(MessageRecord.rowBytes) AS bytes, ordinal FROM log
        ORDER BY sequence LIMIT ?
        """
    static let bytesAfter = "SELECT sum(\(MessageRecord.rowBytes)) FROM log WHERE sequence > ?"
    static let dropPending = "DELETE FROM owed WHERE ordinal = ? AND afterSequence < ?"
}

extension StoredInstallation {
    init(row: Row) throws {
        let digest: Data? = row["channelDigest"]
        let known = try? Installation(record: row["record"])
        // Only a 'stream' installation has a digest. A damaged record must not open it to everybody.
        let platform = digest == nil ? Platform(rawValue: "unreadable") : .stream
        var installation =
            try known ?? Installation(id: InstallationID(row["installationID"]), platform: platform, pushChannel: nil)
        if known == nil { installation.expirationTime = (row["expiresAt"] as Timestamp?)?.date }
        self.init(
            ordinal: row["ordinal"],
            installation: installation,
            channelDigest: digest.map { [UInt8]($0) },
            createdSequence: row["createdSequence"],
            isReadable: known != nil
        )
    }
}

extension Installation {
    /// Reads a stored ``record``.
    init(record: Data) throws {
        self = try JSONReader.decode(Installation.self, from: [UInt8](record), limits: .stored)
    }

    /// The form in which the store keeps the installation: without the secret of a `stream` installation.
    var record: Data {
        get throws {
            var kept = self
            if platform == .stream { kept.pushChannel = nil }
            return try JSONEncoder.sorted.encode(kept)
        }
    }
}
