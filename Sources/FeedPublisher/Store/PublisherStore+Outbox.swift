internal import Formats
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// The messages that wait for the hub, and their outcomes.
extension PublisherStore {
    /// Number of finished rows that are kept for people.
    static let keptFinishedRows = 5_000

    /// Returns the pending rows, oldest first.
    func pending() throws -> [OutboxRow] {
        try read { store in
            try store.rows("SELECT * FROM outbox WHERE state = 'pending' ORDER BY id").map { row in
                OutboxRow(
                    id: try row.decode(forColumn: "id"),
                    message: try OutboxMessage(row),
                    created: try row.decode(Timestamp.self, forColumn: "created").date,
                    wasAttempted: try row.decode(forColumn: "isAttempted")
                )
            }
        }
    }

    /// Records that a row's bytes may reach the hub from now on.
    ///
    /// - Returns: The bytes, which no longer change; `nil` if the row no longer waits.
    @discardableResult
    func markAttempted(_ id: Int64) throws -> [UInt8]? {
        try transaction { store in
            try store.run("UPDATE outbox SET isAttempted = 1 WHERE id = ? AND state = 'pending'", [id])
            return try store.rows("SELECT body FROM outbox WHERE id = ? AND state = 'pending'", [id]).first?
                .bytes("body")
        }
    }

    /// Ends a row that has expired, unless its bytes may have reached the hub.
    ///
    /// - Returns: True if it has expired; a concurrent poll may have given it another end since it was read.
    func expire(_ id: Int64, now: Date) throws -> Bool {
        try transaction { store in
            try store.run(
                """
                UPDATE outbox SET state = 'failed', reason = 'expired', finished = ?2
                WHERE id = ?1 AND state = 'pending' AND isAttempted = 0 AND expires <= ?2
                """,
                [id, now.timestamp]
            )
            return store.database.changesCount == 1
        }
    }

    /// Records a row's outcome.
    func finish(_ id: Int64, _ outcome: OutboxOutcome, now: Date) throws {
        let (state, column, value) =
            switch outcome {
            case .sent(let messageID): ("sent", "messageID", messageID)
            case .failed(let reason): ("failed", "reason", reason)
            }
        try transaction { store in
            try store.run(
                "UPDATE outbox SET state = ?, \(column) = ?, finished = ? WHERE id = ? AND state = 'pending'",
                [state, value, now.timestamp, id]
            )
        }
    }

    /// Returns the messages of a category that were sent within the window of the cap.
    ///
    /// Later times are ignored: those messages were sent while the clock was ahead.
    func recentMessages(of category: String, at now: Date) throws -> RecentMessages {
        try read { store in
            let rows = try store.rows(
                """
                SELECT finished, isDigest FROM outbox
                WHERE state = 'sent' AND category = ? AND finished > ? AND finished <= ?
                """,
                [category, RecentMessages.start(at: now).timestamp, now.timestamp]
            ).map { row in
                (try row.date("finished") ?? now, try row.decode(Bool.self, forColumn: "isDigest"))
            }
            return RecentMessages(
                times: rows.filter { !$0.1 }.map(\.0).sorted(),
                digest: rows.filter(\.1).map(\.0).max()
            )
        }
    }

    /// Deletes finished rows, except the newest ``keptFinishedRows``.
    func forgetFinished() throws {
        try transaction { store in
            try store.run(
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
    /// - Returns: The digest's row; `nil`, with nothing changed, if a concurrent poll has changed one of the rows.
    func fold(_ rows: [OutboxRow], into digest: OutboxMessage, now: Date) throws -> OutboxRow? {
        try transaction { store in
            for row in rows {
                let current = try store.rows(
                    "SELECT * FROM outbox WHERE id = ? AND state = 'pending' AND isAttempted = 0",
                    [row.id]
                ).first.map(OutboxMessage.init)
                guard current == row.message else { return nil }
            }
            let id = try store.insert(digest, feed: nil, now: now)
            for row in rows {
                try store.run(
                    "UPDATE outbox SET state = 'folded', digest = ?, finished = ? WHERE id = ?",
                    [id, now.timestamp, row.id]
                )
            }
            return OutboxRow(id: id, message: digest, created: now, wasAttempted: false)
        }
    }

    /// Returns the page of the feed of the first of some rows whose feed has one.
    func page(of rows: [Int64]) throws -> String? {
        try read { store in
            for row in rows {
                let page = try store.rows(
                    "SELECT page FROM feedPage JOIN outbox ON outbox.feed = feedPage.feed WHERE outbox.id = ?",
                    [row]
                ).first
                if let page { return try page.decode(forColumn: "page") }
            }
            return nil
        }
    }

    /// Returns the number of messages that wait for the hub.
    func pendingCount() throws -> Int {
        try read { store in
            let row = try store.rows("SELECT count(*) AS n FROM outbox WHERE state = 'pending'").first
            return try row?.decode(forColumn: "n") ?? 0
        }
    }
}

extension StoreTransaction {
    /// Adds a message to the outbox, and returns its row's number.
    func insert(_ message: OutboxMessage, feed: Int64?, now: Date) throws -> Int64 {
        try insert(
            """
            INSERT INTO outbox (feed, category, tags, idempotencyKey, body, headlines, entries, isDigest, created,
            story, status, urgency, replaces, notBefore, expires, languages)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                feed, message.category, message.tags, message.idempotencyKey, Data(message.body), message.headlines,
                message.entries, message.isDigest, now.timestamp, message.story, message.status?.rawValue,
                message.urgency, message.replaces.isEmpty ? nil : message.replaces.joined(separator: " "),
                message.notBefore?.timestamp, message.expires?.timestamp, message.encodedShares,
            ]
        )
    }

    /// Stores the page to which a digest of a feed's entries leads.
    func save(page: String?, of feed: Int64) throws {
        guard let page else { return }
        try run(
            """
            INSERT INTO feedPage (feed, page) VALUES (?1, ?2)
            ON CONFLICT DO UPDATE SET page = excluded.page WHERE page <> excluded.page
            """,
            [feed, page]
        )
    }

    /// Replaces the text of a message of which no byte was sent.
    func amend(_ row: Int64, _ message: OutboxMessage) throws {
        try run(
            """
            UPDATE outbox SET body = ?, headlines = ?, urgency = ?, expires = ?, languages = ?
            WHERE id = ? AND state = 'pending' AND isAttempted = 0
            """,
            [
                Data(message.body), message.headlines, message.urgency, message.expires?.timestamp,
                message.encodedShares, row,
            ]
        )
    }

    /// Removes a message from the outbox, unless it may have reached the hub.
    func remove(_ row: Int64) throws {
        try run("DELETE FROM outbox WHERE id = ? AND state = 'pending' AND isAttempted = 0", [row])
    }
}

extension OutboxMessage {
    init(_ row: Row) throws {
        self.init(
            category: try row.decode(forColumn: "category"),
            tags: try row.decode(forColumn: "tags"),
            body: try row.bytes("body") ?? [],
            idempotencyKey: try row.decode(forColumn: "idempotencyKey"),
            headlines: try row.decode(forColumn: "headlines"),
            entries: try row.decode(forColumn: "entries"),
            isDigest: try row.decode(forColumn: "isDigest"),
            story: try row.decode(forColumn: "story"),
            status: try row.decode(String?.self, forColumn: "status").flatMap(MessageStatus.init),
            urgency: try row.decode(forColumn: "urgency"),
            replaces: try row.decode(String?.self, forColumn: "replaces")?.split(separator: " ").map(String.init) ?? [],
            notBefore: try row.date("notBefore"),
            expires: try row.date("expires"),
            shares: try row.decode(String?.self, forColumn: "languages").map(Self.shares) ?? [:]
        )
    }

    private static func shares(_ text: String) throws -> [String: LanguageShare] {
        try JSONReader.decode([String: LanguageShare].self, from: text, limits: .stored)
    }

    fileprivate var encodedShares: String? {
        get throws {
            shares.isEmpty ? nil : try JSONEncoder.plain.text(shares)
        }
    }
}
