internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// Marks of documents that are being read, and of those during whose reading the program ended.
///
/// A mark must survive the process, but not a power failure: it is written without waiting for the disk.
extension PublisherStore {
    /// Marks a document as being read, unless it must be skipped.
    ///
    /// - Returns: The reason to skip it; `nil` if it was marked.
    func beginReading(
        _ feed: Int64,
        hash: [UInt8],
        program: String,
        isForced: Bool,
        now: Date
    ) throws -> InterruptedReading? {
        try withoutSync { store in
            let known = try store.interruptedReadings()[feed]
            if let known, !isForced, known.skips(hash, program: program, at: now) { return known }
            try store.run(
                """
                INSERT INTO reading (feed, bodyHash, program, started, isOpen) VALUES (?, ?, ?, ?, 1)
                ON CONFLICT DO UPDATE SET bodyHash = excluded.bodyHash, program = excluded.program,
                started = excluded.started, isOpen = 1
                """,
                [feed, Data(hash), program, now.timestamp]
            )
            return nil
        }
    }

    /// Removes a mark: the reading has ended, and the program has not.
    func endReading(_ feed: Int64) throws {
        try withoutSync { try $0.endReading(feed) }
    }

    /// Evaluates the marks that earlier runs of the program left; must be called before a run reads anything.
    ///
    /// - Parameter trapped: The feed whose reading is known to have crashed the last run.
    /// - Returns: The feeds that were being read when that run ended.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    func settleReadings(trapped: Int64?) throws -> [Int64] {
        let open: [Int64] = try read { store in
            try store.values("SELECT feed FROM reading WHERE isOpen = 1") { try $0.decode(forColumn: "feed") }
        }
        guard !open.isEmpty else { return [] }
        try transaction { store in
            try store.run(
                "UPDATE reading SET isOpen = 0, deaths = deaths + 1, isCertain = (feed = ?) WHERE isOpen = 1",
                [trapped ?? 0]
            )
        }
        return open
    }

    /// Returns the documents during whose reading earlier runs of the program ended, by feed.
    func interruptedReadings() throws -> [Int64: InterruptedReading] {
        try read { try $0.interruptedReadings() }
    }

    /// Runs statements that commit one by one, and reach the disk with the next transaction that waits for it.
    private func withoutSync<Value>(_ body: (StoreTransaction) throws -> Value) throws -> Value {
        try read { store in
            // Do not cache these statements: SQLite applies a pragma when it compiles it.
            try store.database.execute(sql: "PRAGMA synchronous = NORMAL")
            let result = Result { try body(store) }
            try store.database.execute(sql: "PRAGMA synchronous = FULL")
            return try result.get()
        }
    }
}

extension StoreTransaction {
    func endReading(_ feed: Int64) throws {
        try run("DELETE FROM reading WHERE feed = ?", [feed])
    }

    fileprivate func interruptedReadings() throws -> [Int64: InterruptedReading] {
        var found: [Int64: InterruptedReading] = [:]
        for row in try rows("SELECT * FROM reading WHERE deaths > 0") {
            found[try row.decode(forColumn: "feed")] = InterruptedReading(
                hash: try row.bytes("bodyHash") ?? [],
                program: try row.decode(forColumn: "program"),
                started: try row.decode(Timestamp.self, forColumn: "started").date,
                deaths: try row.decode(forColumn: "deaths"),
                isCertain: try row.decode(forColumn: "isCertain")
            )
        }
        return found
    }
}
