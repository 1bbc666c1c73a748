internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import GRDB
internal import Glibc
internal import HubProtocol
internal import SQLiteFiles

/// The publisher's memory: one SQLite file, and the only place with SQL in this module.
///
/// All that one fetch changes commits in one transaction (design.md §7): after a kill at any point either the document
/// was never read, or its validators, marks and messages are all there.
///
/// Blocking, on purpose: GRDB's asynchronous writes roll back when their task is cancelled.
package final class PublisherStore: Sendable {
    /// Runs before each statement and before each commit; an error thrown there ends the transaction like a kill.
    package typealias StatementHook = @Sendable (_ sql: String) throws -> Void

    /// Seconds that another process (a backup, a person with a shell) may hold the file.
    private static let busyTimeout: Double = 10

    /// Path of the file, also where a copy in memory came from.
    private let place: String
    private let database: any DatabaseWriter
    private let hook: StatementHook?

    /// Opens or makes the file, migrates it, and makes sure that a commit survives a power cut.
    ///
    /// - Throws: ``PublisherStoreError``; also when the file was made by a newer version.
    package convenience init(path: String, hook: StatementHook? = nil) throws {
        let queue = try PublisherStoreError.naming(path) {
            var configuration = Configuration()
            configuration.busyMode = .timeout(Self.busyTimeout)
            // One connection: all goes through the writer, and GRDB's pool writes to the file whenever it is opened.
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.writeWithoutTransaction { db in
                let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL")
                try db.execute(sql: "PRAGMA synchronous = FULL")
                guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2, mode == "wal" else {
                    throw PublisherStoreError(reason: "its file system does not take write-ahead logging")
                }
            }
            return queue
        }
        try self.init(database: queue, place: path, hook: hook)
    }

    private init(database: any DatabaseWriter, place: String, hook: StatementHook?) throws {
        self.place = place
        self.database = database
        self.hook = hook
        try PublisherStoreError.naming(place) {
            let migrator = Self.migrator
            guard try !database.writeWithoutTransaction(migrator.hasBeenSuperseded) else {
                throw PublisherStoreError(reason: "it was written by a newer newswire")
            }
            if try !database.writeWithoutTransaction(migrator.hasCompletedMigrations) { try migrator.migrate(database) }
        }
    }

    /// A copy in memory, for a dry run: what is written there is gone with it.
    ///
    /// Empty when there is no file.
    ///
    /// - Throws: ``PublisherStoreError``.
    static func scratchCopy(of path: String) throws -> PublisherStore {
        let copy = try PublisherStoreError.naming(path) {
            let memory = try DatabaseQueue()
            if try isThere(path) {
                var configuration = Configuration()
                configuration.readonly = true
                configuration.busyMode = .timeout(busyTimeout)
                let file = try DatabaseQueue(path: path, configuration: configuration)
                try file.backup(to: memory)
                try file.close()
            }
            return memory
        }
        return try PublisherStore(database: copy, place: path, hook: nil)
    }

    /// A file that we may not look for is no missing one.
    private static func isThere(_ path: String) throws -> Bool {
        if access(path, F_OK) == 0 { return true }
        guard errno == ENOENT else { throw PublisherStoreError(reason: String(cString: strerror(errno)).lowercased()) }
        return false
    }

    /// Looks at a publisher's file without changing it.
    ///
    /// - Returns: Why it cannot be used; `nil` when it can.
    package static func problem(at path: String) -> String? { DatabaseFile.problem(at: path, keptBy: migrator) }

    /// Limits the file's size, in pages of 4 KB, so that a test can fill the disk.
    func limitPages(to pages: Int) throws {
        try write { db in _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages)") }
    }

    package func close() throws { try database.close() }

    // MARK: Feeds

    /// All feeds ever listed, by URL.
    func feeds() throws -> [String: FeedRecord] {
        try read { db in
            // One row at a time: thousands of rows at once would take more room than the records.
            let sql = "SELECT * FROM feed"
            try self.hook?(sql)
            var feeds: [String: FeedRecord] = [:]
            let rows = try Row.fetchCursor(db.cachedStatement(sql: sql))
            while let row = try rows.next() {
                let record = try Self.record(row)
                feeds[record.url] = record
            }
            return feeds
        }
    }

    /// Gives each listed feed its number; those already known keep theirs.
    ///
    /// A feed whose address was corrected in its list keeps its number and what it knows of entries; what was found out
    /// about the former address is nothing against the new one.
    func enroll(_ addresses: [FeedAddress]) throws -> [String: FeedRecord] {
        let known = try feeds()
        let new = addresses.filter { known[$0.text] == nil }
        guard !new.isEmpty else { return known }
        let listed = Set(addresses.map(\.text))
        var unlisted = known.values.filter { !listed.contains($0.url) }
        try write { db in
            for address in new {
                if let index = unlisted.firstIndex(where: { $0.hasMoved(to: address) }) {
                    let former = unlisted.remove(at: index)
                    try self.run(
                        db,
                        """
                        UPDATE feed SET url = ?, moved_url = NULL, move_url = NULL, move_first_seen = NULL,
                        move_polls = NULL, etag = NULL, last_modified = NULL, validator_url = NULL, body_hash = NULL,
                        identical_answers = 0, due = NULL, wait = NULL, failures = 0, failing_since = NULL,
                        trouble_kind = NULL, trouble = NULL, retired = NULL WHERE id = ?
                        """,
                        [address.text, former.id]
                    )
                } else {
                    try self.run(db, "INSERT INTO feed (url) VALUES (?) ON CONFLICT DO NOTHING", [address.text])
                }
            }
        }
        return try feeds()
    }

    /// Writes all that one fetch changes: the feed as it is to be from now on, that its host asked for quiet, and the
    /// document if one came.
    ///
    /// With `endsReading` the mark that ``beginReading(_:hash:program:isForced:now:)`` made is taken away in the same
    /// transaction.
    ///
    /// - Returns: What was decided about the document.
    @discardableResult
    func commit(
        _ record: FeedRecord,
        hostWait: HostWait? = nil,
        reading: DocumentReading? = nil,
        endsReading: Bool = false,
        now: Date
    ) throws -> Verdict? {
        try write { db in
            if endsReading { try self.endReading(db, record.id) }
            var record = record
            var verdict: Verdict?
            if let reading {
                let judged = reading.judge(try self.seenState(db, of: record, reading))
                try self.mark(db, judged.marks, reading.entries, of: record, now: now)
                if !reading.isPartial { try self.forgetMarks(db, judged.marks, of: record) }
                for (row, message) in judged.amended { try self.amend(db, row, message) }
                let category = reading.category
                for change in judged.closed {
                    try self.apply(db, change, nil, in: category, feed: record.id, now: now)
                }
                for story in judged.stories {
                    try self.apply(db, story.change, story.message, in: category, feed: record.id, now: now)
                }
                for (row, change) in judged.translated {
                    try self.remember(db, change, row: row, in: category, feed: record.id, now: now)
                }
                if !(judged.stories.isEmpty && judged.closed.isEmpty && judged.translated.isEmpty) {
                    try self.forgetStories(db, in: category)
                }
                let held = [reading.isPartial ? record.heldUntil : nil, judged.judgement.heldUntil]
                record.heldUntil = held.compactMap(\.self).min()
                if judged.judgement.announcesUpdate { record.lastUpdate = now }
                verdict = judged
            }
            if let hostWait { try self.save(db, hostWait, now) }
            try self.save(db, record)
            return verdict
        }
    }

    /// Hosts that asked for quiet.
    func hostWaits() throws -> [String: DueTime] {
        try read { db in
            let rows = try self.rows(db, "SELECT host, until, wait FROM host_wait")
            return Dictionary(
                try rows.map { row in
                    let due = DueTime(
                        at: Self.date(try row.decode(Int64.self, forColumn: "until")),
                        wait: .milliseconds(try row.decode(Int64.self, forColumn: "wait"))
                    )
                    return (try row.decode(String.self, forColumn: "host"), due)
                }
            ) { first, _ in first }
        }
    }

    /// A shorter wait does not end a longer one, unless that was counted by a clock that has been set back since.
    private func save(_ db: Database, _ wait: HostWait, _ now: Date) throws {
        try run(
            db,
            """
            INSERT INTO host_wait (host, until, wait) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET until = excluded.until, wait = excluded.wait
            WHERE excluded.until > until OR until - wait > ?4
            """,
            [
                wait.host, Self.milliseconds(wait.due.at), wait.due.wait.inMilliseconds, Self.milliseconds(now),
            ]
        )
    }

    private func save(_ db: Database, _ record: FeedRecord) throws {
        try run(
            db,
            """
            UPDATE feed SET moved_url = ?, move_url = ?, move_first_seen = ?, move_polls = ?, etag = ?, last_modified = ?,
            body_hash = ?, identical_answers = ?, due = ?, wait = ?, failures = ?, failing_since = ?, trouble_kind = ?,
            trouble = ?, last_success = ?, newest_entry = ?, baseline = ?, readings = ?, complete_reading = ?, incomplete_readings = ?,
            identity_rule = ?, retired = ?, title = ?, format = ?, validator_url = ?, pace = ?, skip_hours = ?,
            skip_days = ?, last_update = ?, held_until = ? WHERE id = ?
            """,
            [
                record.movedURL, record.move?.url, Self.milliseconds(record.move?.firstSeen), record.move?.polls,
                record.validators.etag.map { Data($0) }, record.validators.lastModified.map { Data($0) },
                record.bodyHash.map { Data($0) }, record.identicalAnswers, Self.milliseconds(record.due?.at),
                record.due?.wait.inMilliseconds, record.failures, Self.milliseconds(record.failingSince),
                record.trouble?.kind, record.trouble?.line, Self.milliseconds(record.lastSuccess),
                Self.milliseconds(record.newestEntry),
                Self.milliseconds(record.baseline), record.readings, record.completeReading, record.incompleteReadings,
                record.identityRule.rawValue, Self.milliseconds(record.retired), record.title, record.format,
                record.validators.url, record.pace.interval?.inMilliseconds, record.pace.skipHours.bits,
                record.pace.skipDays.bits, Self.milliseconds(record.lastUpdate), Self.milliseconds(record.heldUntil),
                record.id,
            ]
        )
    }

    static func record(_ row: Row) throws -> FeedRecord {
        var record = FeedRecord(id: try row.decode(forColumn: "id"), url: try row.decode(forColumn: "url"))
        record.movedURL = try row.decode(forColumn: "moved_url")
        if let url = try row.decode(String?.self, forColumn: "move_url"),
            let firstSeen = try date(row, "move_first_seen")
        {
            record.move = MoveCandidate(url: url, firstSeen: firstSeen, polls: try row.decode(forColumn: "move_polls"))
        }
        record.validators.etag = try bytes(row, "etag")
        record.validators.lastModified = try bytes(row, "last_modified")
        record.validators.url = try row.decode(forColumn: "validator_url")
        record.pace.interval = try row.decode(Int64?.self, forColumn: "pace").map { .milliseconds($0) }
        record.pace.skipHours = Set(bits: try row.decode(forColumn: "skip_hours"))
        record.pace.skipDays = Set(bits: try row.decode(forColumn: "skip_days"))
        record.bodyHash = try bytes(row, "body_hash")
        record.identicalAnswers = try row.decode(forColumn: "identical_answers")
        if let due = try date(row, "due"), let wait = try row.decode(Int64?.self, forColumn: "wait") {
            record.due = DueTime(at: due, wait: .milliseconds(wait))
        }
        record.failures = try row.decode(forColumn: "failures")
        record.failingSince = try date(row, "failing_since")
        if let kind = try row.decode(String?.self, forColumn: "trouble_kind"),
            let line = try row.decode(String?.self, forColumn: "trouble")
        {
            record.trouble = FeedTrouble(kind: kind, line: line)
        }
        record.lastSuccess = try date(row, "last_success")
        record.newestEntry = try date(row, "newest_entry")
        record.baseline = try date(row, "baseline")
        record.readings = try row.decode(forColumn: "readings")
        record.completeReading = try row.decode(forColumn: "complete_reading")
        record.incompleteReadings = try row.decode(forColumn: "incomplete_readings")
        record.identityRule = IdentityRule(rawValue: try row.decode(forColumn: "identity_rule")) ?? .id
        record.retired = try date(row, "retired")
        record.lastUpdate = try date(row, "last_update")
        record.heldUntil = try date(row, "held_until")
        record.title = try row.decode(forColumn: "title")
        record.format = try row.decode(forColumn: "format")
        return record
    }

    // MARK: Notes

    /// A fact about the hub or this publisher that outlives a pass.
    func note(_ name: PublisherNote) throws -> String? {
        try read { db in
            try self.rows(db, "SELECT value FROM note WHERE name = ?", [name.rawValue]).first.map {
                try $0.decode(String.self, atIndex: 0)
            }
        }
    }

    func setNote(_ name: PublisherNote, _ value: String?) throws {
        try write { db in
            guard let value else {
                try self.run(db, "DELETE FROM note WHERE name = ?", [name.rawValue])
                return
            }
            try self.run(
                db,
                "INSERT INTO note (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                [name.rawValue, value]
            )
        }
    }

    // MARK: Statements

    func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try PublisherStoreError.naming(place) {
            try hook?("BEGIN")
            let value = try database.write { db in
                let value = try body(db)
                try self.hook?("COMMIT")
                return value
            }
            return value
        }
    }

    /// Reads through the writer: the publisher acts on what it reads, and must see what it has just written.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try PublisherStoreError.naming(place) { try database.writeWithoutTransaction(body) }
    }

    func run(
        _ db: Database,
        _ sql: String,
        _ arguments: [(any DatabaseValueConvertible)?] = []
    ) throws {
        try hook?(sql)
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(arguments))
    }

    func rows(
        _ db: Database,
        _ sql: String,
        _ arguments: [(any DatabaseValueConvertible)?] = []
    ) throws -> [Row] {
        try hook?(sql)
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: StatementArguments(arguments))
    }

    static func milliseconds(_ date: Date?) -> Int64? {
        // Far outside any calendar, but a clock can say anything, and a conversion must not trap.
        date.map { Int64(max(-1e17, min(1e17, ($0.timeIntervalSince1970 * 1_000).rounded()))) }
    }

    static func date(_ milliseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }

    static func date(_ row: Row, _ column: String) throws -> Date? {
        try row.decode(Int64?.self, forColumn: column).map { date($0) }
    }

    static func key(_ row: Row, _ column: String) throws -> EntryKey? {
        try row.decode(Data?.self, forColumn: column).flatMap { EntryKey(bytes: $0) }
    }

    private static func bytes(_ row: Row, _ column: String) throws -> [UInt8]? {
        try row.decode(Data?.self, forColumn: column).map { [UInt8]($0) }
    }
}
