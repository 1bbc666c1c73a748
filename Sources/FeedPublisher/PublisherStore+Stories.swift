internal import Feeds
internal import FoundationEssentials
internal import GRDB

/// The stories that each category announced, so that a second feed's telling is known.
extension PublisherStore {
    /// Keys kept for a category; a story has one by its link and one by its title.
    static let keptStories = 40_000

    func stories(_ db: Database, _ keys: [EntryKey], in category: String) throws -> [EntryKey: KnownStory] {
        let sql = """
            SELECT story.key, story.feed AS teller, story.first_seen, outbox.*
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
            if story.row != nil {
                let message = try Self.message(row)
                let isUnsent =
                    try row.decode(String.self, forColumn: "state") == "pending"
                    && !row.decode(Bool.self, forColumn: "attempted")
                story.headline = message.headlines
                story.unsent = isUnsent ? message : nil
            }
            stories[key] = story
        }
        return stories
    }

    /// A title that comes again after its time is another story's, and takes the former's place.
    func remember(
        _ db: Database,
        _ keys: [EntryKey],
        in category: String,
        feed: Int64,
        row: Int64,
        now: Date
    ) throws {
        for key in keys {
            try run(
                db,
                "INSERT OR REPLACE INTO story (category, key, first_seen, feed, outbox) VALUES (?, ?, ?, ?, ?)",
                [category, Data(key.bytes), Self.milliseconds(now), feed, row]
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
