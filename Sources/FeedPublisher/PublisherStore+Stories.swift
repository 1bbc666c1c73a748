internal import Feeds
internal import FoundationEssentials
internal import GRDB

/// The stories that each category announced, so that a second feed's telling is known.
extension PublisherStore {
    /// Keys kept for a category; a story has one by its link, one by its title and one by its entry.
    static let keptStories = 60_000

    func stories(_ db: Database, _ keys: [EntryKey], in category: String) throws -> [EntryKey: KnownStory] {
        let sql = """
            SELECT story.key, story.feed AS teller, story.first_seen, story.name, story.content, story.withdrawn,
                story.alert, story.sent, outbox.*
            FROM story LEFT JOIN outbox ON outbox.id = story.outbox
            WHERE story.category = ? AND story.key IN
            """
        var stories: [EntryKey: KnownStory] = [:]
        for row in try rows(db, having: keys, sql, [category]) {
            guard let key = try Self.key(row, "key") else { continue }
            var story = KnownStory(
                feed: try row.decode(forColumn: "teller"),
                announced: Self.date(try row.decode(forColumn: "first_seen")),
                row: try row.decode(forColumn: "id")
            )
            story.name = try row.decode(forColumn: "name")
            story.content = try Self.key(row, "content")
            story.isWithdrawn = try row.decode(forColumn: "withdrawn")
            if let key = try Self.key(row, "alert"), let sent = try Self.date(row, "sent") {
                story.alert = LastAlert(key: key, sent: sent)
            }
            if story.row != nil { try Self.describe(&story, row) }
            stories[key] = story
        }
        return stories
    }

    /// Tells how far the story's last message has come.
    private static func describe(_ story: inout KnownStory, _ row: Row) throws {
        let message = try message(row)
        story.headline = message.headlines
        let created = date(try row.decode(forColumn: "created"))
        if message.status == .correction { story.corrected = max(created, message.notBefore ?? created) }
        let wasShownBefore = !message.replaces.isEmpty
        switch (try row.decode(String.self, forColumn: "state"), try row.decode(Bool.self, forColumn: "attempted")) {
        case ("pending", false):
            story.unsent = message
            story.showing = wasShownBefore ? .singly : .never
        case ("failed", _): story.showing = wasShownBefore ? .singly : .never
        case ("folded", _): story.showing = .inDigest
        default: story.showing = .singly
        }
    }

    /// Writes what became of a story: takes out of the outbox what need not leave any more, and puts a message there.
    func apply(
        _ db: Database,
        _ change: StoryChange,
        _ message: OutboxMessage?,
        in category: String,
        feed: Int64,
        now: Date
    ) throws {
        for row in change.unsent {
            try run(db, "DELETE FROM outbox WHERE id = ? AND state = 'pending' AND attempted = 0", [row])
        }
        let row = try message.map { try insert(db, $0, feed: feed, now: now) }
        let content = change.content.map { Data($0.bytes) }
        let alert = change.alert.map { Data($0.key.bytes) }
        let sent = Self.milliseconds(change.alert?.sent)
        let isWithdrawn = change.status == .withdrawn || message == nil
        for name in change.merges {
            try run(
                db,
                """
                UPDATE story SET name = ?, feed = ?, outbox = ?, content = ?, withdrawn = ?, alert = ?, sent = ?
                WHERE category = ? AND name = ?
                """,
                [change.name, feed, row, content, isWithdrawn, alert, sent, category, name]
            )
        }
        // A title that comes again after its time is another story's, and takes the former's place.
        for key in change.keys {
            try run(
                db,
                """
                INSERT OR REPLACE INTO story
                (category, key, first_seen, feed, outbox, name, content, withdrawn, alert, sent)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    category, Data(key.bytes), Self.milliseconds(now), feed, row, change.name, content,
                    isWithdrawn, alert, sent,
                ]
            )
        }
    }

    func forgetStories(_ db: Database, in category: String) throws {
        try run(
            db,
            """
            DELETE FROM story WHERE category = ?1 AND id <=
            (SELECT id FROM story WHERE category = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
            """,
            [category, Self.keptStories]
        )
    }

    /// Replaces the text of a message of which no byte was sent.
    func amend(_ db: Database, _ row: Int64, _ message: OutboxMessage) throws {
        try run(
            db,
            "UPDATE outbox SET body = ? WHERE id = ? AND state = 'pending' AND attempted = 0",
            [Data(message.body), row]
        )
    }
}
