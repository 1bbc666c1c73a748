internal import FoundationEssentials
internal import GRDB

/// The messages that wait for the hub, and what became of them.
extension PublisherStore {
    /// Finished rows kept for people to look at.
    static let keptFinishedRows = 5_000

    /// Rows that wait to be sent, oldest first.
    func pending() throws -> [OutboxRow] {
        try read { db in
            try self.rows(db, "SELECT * FROM outbox WHERE state = 'pending' ORDER BY id").map { row in
                OutboxRow(
                    id: try row.decode(forColumn: "id"),
                    message: try Self.message(row),
                    created: Self.date(try row.decode(forColumn: "created")),
                    wasAttempted: try row.decode(forColumn: "attempted")
                )
            }
        }
    }

    static func message(_ row: Row) throws -> OutboxMessage {
        OutboxMessage(
            category: try row.decode(forColumn: "category"),
            tags: try row.decode(forColumn: "tags"),
            body: [UInt8](try row.decode(Data.self, forColumn: "body")),
            idempotencyKey: try row.decode(forColumn: "idempotency_key"),
            headlines: try row.decode(forColumn: "headlines"),
            entries: try row.decode(forColumn: "entries"),
            isDigest: try row.decode(forColumn: "is_digest"),
            status: try row.decode(String?.self, forColumn: "status").flatMap(MessageStatus.init),
            replaces: try row.decode(String?.self, forColumn: "replaces").map(names) ?? [],
            notBefore: try date(row, "not_before"),
            expires: try date(row, "expires"),
            shares: try row.decode(String?.self, forColumn: "languages").map(Self.shares) ?? [:]
        )
    }

    private static func names(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    private static func shares(_ text: String) throws -> [String: LanguageShare] {
        try JSONDecoder().decode([String: LanguageShare].self, from: Data(text.utf8))
    }

    static func encoded(_ shares: [String: LanguageShare]) throws -> String? {
        guard !shares.isEmpty else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(shares), as: UTF8.self)
    }

    /// Notes that a row's bytes may reach the hub from now on.
    ///
    /// - Returns: These bytes, which do not change any more; `nil` when the row does not wait any longer.
    @discardableResult
    func markAttempted(_ id: Int64) throws -> [UInt8]? {
        try write { db in
            try self.run(db, "UPDATE outbox SET attempted = 1 WHERE id = ? AND state = 'pending'", [id])
            return try self.rows(db, "SELECT body FROM outbox WHERE id = ? AND state = 'pending'", [id]).first.map {
                [UInt8](try $0.decode(Data.self, forColumn: "body"))
            }
        }
    }

    /// Notes what became of a row.
    func finish(_ id: Int64, _ outcome: OutboxOutcome, now: Date) throws {
        try write { db in
            switch outcome {
            case .sent(let messageID):
                try self.run(
                    db,
                    "UPDATE outbox SET state = 'sent', message_id = ?, finished = ? WHERE id = ? AND state = 'pending'",
                    [messageID, Self.milliseconds(now), id]
                )
            case .failed(let reason):
                try self.run(
                    db,
                    "UPDATE outbox SET state = 'failed', reason = ?, finished = ? WHERE id = ? AND state = 'pending'",
                    [reason, Self.milliseconds(now), id]
                )
            }
        }
    }

    /// What of a category was sent within a window of time that began then.
    ///
    /// What lies behind it was sent while the clock was ahead.
    func recentMessages(of category: String, since start: Date, window: Duration) throws -> RecentMessages {
        try read { db in
            let rows = try self.rows(
                db,
                """
                SELECT finished, is_digest FROM outbox
                WHERE state = 'sent' AND category = ? AND finished > ? AND finished <= ?
                """,
                [category, Self.milliseconds(start), Self.milliseconds(start.addingTimeInterval(window.inSeconds))]
            ).map { row in
                (Self.date(try row.decode(forColumn: "finished")), try row.decode(Bool.self, forColumn: "is_digest"))
            }
            return RecentMessages(
                window: window,
                times: rows.filter { !$0.1 }.map(\.0).sorted(),
                digest: rows.filter(\.1).map(\.0).max()
            )
        }
    }

    /// Forgets finished rows, but for the newest ``keptFinishedRows``.
    func forgetFinished() throws {
        try write { db in
            try self.run(
                db,
                """
                DELETE FROM outbox WHERE state <> 'pending' AND id <=
                (SELECT id FROM outbox WHERE state <> 'pending' ORDER BY id DESC LIMIT 1 OFFSET ?)
                """,
                [Self.keptFinishedRows]
            )
        }
    }

    /// Replaces rows that were never attempted by one digest.
    ///
    /// - Returns: The digest's row; `nil`, and nothing was done, when a poll has changed one of the rows meanwhile.
    func fold(_ rows: [OutboxRow], into digest: OutboxMessage, now: Date) throws -> OutboxRow? {
        try write { db in
            for row in rows {
                let current = try self.rows(
                    db,
                    "SELECT * FROM outbox WHERE id = ? AND state = 'pending' AND attempted = 0",
                    [row.id]
                ).first.map(Self.message)
                guard current == row.message else { return nil }
            }
            let id = try self.insert(db, digest, feed: nil, now: now)
            for row in rows {
                try self.run(
                    db,
                    "UPDATE outbox SET state = 'folded', digest = ?, finished = ? WHERE id = ?",
                    [id, Self.milliseconds(now), row.id]
                )
            }
            return OutboxRow(id: id, message: digest, created: now, wasAttempted: false)
        }
    }

    func counts() throws -> OutboxCounts {
        try read { db in
            var counts = OutboxCounts()
            for row in try self.rows(db, "SELECT state, count(*) AS n FROM outbox GROUP BY state") {
                let count = try row.decode(Int.self, forColumn: "n")
                switch try row.decode(String.self, forColumn: "state") {
                case "pending": counts.pending = count
                case "sent": counts.sent = count
                case "failed": counts.failed = count
                default: counts.folded = count
                }
            }
            return counts
        }
    }

    @discardableResult
    func insert(_ db: Database, _ message: OutboxMessage, feed: Int64?, now: Date) throws -> Int64 {
        try run(
            db,
            """
            INSERT INTO outbox (feed, category, tags, idempotency_key, body, headlines, entries, is_digest, created,
            status, replaces, not_before, expires, languages)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                feed, message.category, message.tags, message.idempotencyKey, Data(message.body), message.headlines,
                message.entries, message.isDigest, Self.milliseconds(now), message.status?.rawValue,
                message.replaces.isEmpty ? nil : message.replaces.joined(separator: " "),
                Self.milliseconds(message.notBefore), Self.milliseconds(message.expires), Self.encoded(message.shares),
            ]
        )
        return db.lastInsertedRowID
    }
}
