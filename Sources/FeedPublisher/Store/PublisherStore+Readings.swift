internal import FoundationEssentials
internal import GRDB

/// Marks of the documents that are being read, and of those during whose reading the program ended.
///
/// A mark must survive the process, not a power cut: it is written without waiting for the disk.
extension PublisherStore {
    /// Marks a document as being read, unless it is one to skip.
    ///
    /// - Returns: Why it is to be skipped; `nil` when it was marked.
    func beginReading(
        _ feed: Int64,
        hash: [UInt8],
        program: String,
        isForced: Bool,
        now: Date
    ) throws -> InterruptedReading? {
        try withoutSync { db in
            let known = try self.interrupted(db, "WHERE feed = ? AND deaths > 0", [feed])[feed]
            if let known, !isForced, known.skips(hash, program: program, at: now) { return known }
            try self.run(
                db,
                """
                INSERT INTO reading (feed, body_hash, program, started, is_open) VALUES (?, ?, ?, ?, 1)
                ON CONFLICT DO UPDATE SET body_hash = excluded.body_hash, program = excluded.program,
                started = excluded.started, is_open = 1
                """,
                [feed, Data(hash), program, Self.milliseconds(now)]
            )
            return nil
        }
    }

    /// Takes a mark away: the reading has ended, and the program has not.
    func endReading(_ feed: Int64) throws {
        try withoutSync { db in try self.endReading(db, feed) }
    }

    func endReading(_ db: Database, _ feed: Int64) throws {
        try run(db, "DELETE FROM reading WHERE feed = ?", [feed])
    }

    /// Takes account of the marks that earlier runs of the program left; to be called before a run reads anything.
    ///
    /// - Parameter trapped: The feed whose reading is known to have crashed the last run.
    /// - Returns: The feeds that were being read when that run ended.
    /// - Throws: ``PublisherStoreError``.
    func settleReadings(trapped: Int64?) throws -> [Int64] {
        let open = try read { db in
            try self.rows(db, "SELECT feed FROM reading WHERE is_open = 1").map {
                try $0.decode(Int64.self, atIndex: 0)
            }
        }
        guard !open.isEmpty else { return [] }
        try write { db in
            try self.run(
                db,
                "UPDATE reading SET is_open = 0, deaths = deaths + 1, is_certain = (feed = ?) WHERE is_open = 1",
                [trapped ?? 0]
            )
        }
        return open
    }

    /// The documents during whose reading earlier runs of the program ended, by feed.
    func interruptedReadings() throws -> [Int64: InterruptedReading] {
        try read { db in try self.interrupted(db, "WHERE deaths > 0") }
    }

    func interruptedReading(_ feed: Int64) throws -> InterruptedReading? {
        try read { db in try self.interrupted(db, "WHERE feed = ? AND deaths > 0", [feed])[feed] }
    }

    private func interrupted(
        _ db: Database,
        _ condition: String,
        _ arguments: [(any DatabaseValueConvertible)?] = []
    ) throws -> [Int64: InterruptedReading] {
        var found: [Int64: InterruptedReading] = [:]
        for row in try rows(db, "SELECT * FROM reading \(condition)", arguments) {
            found[try row.decode(forColumn: "feed")] = InterruptedReading(
                hash: [UInt8](try row.decode(Data.self, forColumn: "body_hash")),
                program: try row.decode(forColumn: "program"),
                started: Self.date(try row.decode(forColumn: "started")),
                deaths: try row.decode(forColumn: "deaths"),
                isCertain: try row.decode(forColumn: "is_certain")
            )
        }
        return found
    }

    /// Statements that commit one by one, and reach the disk with the next transaction that waits for it.
    private func withoutSync<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try read { db in
            // Never from the cache of statements: SQLite obeys when it compiles these.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            let result = Result { try body(db) }
            try db.execute(sql: "PRAGMA synchronous = FULL")
            return try result.get()
        }
    }
}
