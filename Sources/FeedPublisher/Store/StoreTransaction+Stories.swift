internal import Feeds
internal import FoundationEssentials
internal import GRDB

/// The stories that each category announced, so that a second feed's telling is known.
extension PublisherStore {
    /// Keys kept for a category; a story has one by its link, one by its title and one by its entry.
    static let keptStories = 60_000

    private static let columns = """
        story.feed AS teller, story.first_seen, story.name, story.content, story.withdrawn, story.alert, story.sent,
            story.language, outbox.*
        """

    func stories(
        _ db: Database,
        of reading: DocumentReading,
        _ unknown: Set<EntryKey>,
        _ edited: Set<EntryKey>
    ) throws -> [EntryKey: KnownStory] {
        let keys = reading.stories(unknown, edited)
        let sql = """
            SELECT story.key, \(Self.columns) FROM story LEFT JOIN outbox ON outbox.id = story.outbox
            WHERE story.category = ? AND story.key IN
            """
        var stories: [EntryKey: KnownStory] = [:]
        for row in try rows(db, having: keys, sql, [reading.category]) {
            if let key = try Self.key(row, "key") { stories[key] = try Self.story(row) }
        }
        guard reading.hasLanguages, !stories.isEmpty else { return stories }
        let others = """
            SELECT told.key, \(Self.columns) FROM story AS told
            JOIN story ON story.category = told.category AND story.name = told.name AND story.language <> told.language
            LEFT JOIN outbox ON outbox.id = story.outbox
            WHERE told.category = ? AND told.key IN
            """
        for row in try rows(db, having: Array(stories.keys), others, [reading.category]) {
            guard let key = try Self.key(row, "key") else { continue }
            let other = try Self.story(row)
            let isKnown = stories[key]?.others.contains { $0.language == other.language } ?? true
            // A telling is known by several keys, which all say the same of it.
            if !isKnown { stories[key]?.others.append(other) }
        }
        return stories
    }

    private static func story(_ row: Row) throws -> KnownStory {
        var story = KnownStory(
            feed: try row.decode(forColumn: "teller"),
            announced: date(try row.decode(forColumn: "first_seen")),
            row: try row.decode(forColumn: "id")
        )
        story.name = try row.decode(forColumn: "name")
        story.language = try row.decode(forColumn: "language")
        story.content = try key(row, "content")
        story.isWithdrawn = try row.decode(forColumn: "withdrawn")
        if let key = try key(row, "alert"), let sent = try date(row, "sent") {
            story.alert = LastAlert(key: key, sent: sent)
        }
        if story.row != nil { try describe(&story, row) }
        return story
    }

    /// Tells how far the story's last message has come.
    private static func describe(_ story: inout KnownStory, _ row: Row) throws {
        let message = try message(row)
        story.headline = message.headlines(in: story.language)
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
        try remember(db, change, row: row, in: category, feed: feed, now: now)
    }

    /// Writes what is known of a story once a row tells it; without one it is over.
    func remember(
        _ db: Database,
        _ change: StoryChange,
        row: Int64?,
        in category: String,
        feed: Int64,
        now: Date
    ) throws {
        let content = change.content.map { Data($0.bytes) }
        let alert = change.alert.map { Data($0.key.bytes) }
        let sent = Self.milliseconds(change.alert?.sent)
        let isWithdrawn = change.status == .withdrawn || row == nil
        for name in change.merges {
            try run(
                db,
                """
                UPDATE story SET name = ?, feed = ?, outbox = ?, content = ?, withdrawn = ?, alert = ?, sent = ?
                WHERE category = ? AND name = ? AND (? OR language = ?)
                """,
                [
                    change.name, feed, row, content, isWithdrawn, alert, sent, category, name, change.isForAll,
                    change.language,
                ]
            )
        }
        // A title that comes again after its time is another story's, and takes the former's place.
        for key in change.keys {
            try run(
                db,
                """
                INSERT OR REPLACE INTO story
                (category, key, first_seen, feed, outbox, name, content, withdrawn, alert, sent, language)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    category, Data(key.bytes), Self.milliseconds(now), feed, row, change.name, content,
                    isWithdrawn, alert, sent, change.language,
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
            """
            UPDATE outbox SET body = ?, headlines = ?, languages = ?, expires = ?
            WHERE id = ? AND state = 'pending' AND attempted = 0
            """,
            [
                Data(message.body), message.headlines, Self.encoded(message.shares),
                Self.milliseconds(message.expires), row,
            ]
        )
    }
}
