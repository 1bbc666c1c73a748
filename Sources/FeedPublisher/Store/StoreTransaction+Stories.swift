internal import Feeds
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// The stories announced in each category, so that the same story of another feed is recognized.
extension StoreTransaction {
    /// Number of keys kept for a category; a story has one for its link, one for its title and one for its entry.
    static let keptStories = 60_000

    private static let columns = """
        story.feed AS teller, story.firstSeen, story.name, story.content, story.isWithdrawn, story.alertKey,
            story.alertSent, story.language, story.text, story.published, outbox.*
        """

    /// Returns the stories of a folded category by some of their keys.
    ///
    /// With `hasLanguages` they include the same stories in other languages.
    func stories(_ keys: [EntryKey], in category: String, hasLanguages: Bool) throws -> [EntryKey: KnownStory] {
        let sql = """
            SELECT story.key, \(Self.columns) FROM story LEFT JOIN outbox ON outbox.id = story.outbox
            WHERE story.category = ? AND story.key IN
            """
        var stories: [EntryKey: KnownStory] = [:]
        for row in try rows(having: keys, sql, [category]) {
            if let key = try row.key("key") { stories[key] = try KnownStory(row) }
        }
        guard hasLanguages, !stories.isEmpty else { return stories }
        let others = """
            SELECT told.key, \(Self.columns) FROM story AS told
            JOIN story ON story.category = told.category AND story.name = told.name AND story.language <> told.language
            LEFT JOIN outbox ON outbox.id = story.outbox
            WHERE told.category = ? AND told.key IN
            """
        for row in try rows(having: Array(stories.keys), others, [category]) {
            guard let key = try row.key("key") else { continue }
            let other = try KnownStory(row)
            let isKnown = stories[key]?.others.contains { $0.language == other.language } ?? true
            // Several keys can refer to the same story.
            if !isKnown { stories[key]?.others.append(other) }
        }
        return stories
    }

    /// Writes the changes that a document of a feed makes to the stories of a category, and their messages.
    func record(_ composed: ComposedMessages, of feed: Int64, in category: String, now: Date) throws {
        for (row, message) in composed.amended { try amend(row, message) }
        for change in composed.closed {
            for row in change.unsent { try remove(row) }
            try remember(change, row: nil, in: category, feed: feed, now: now)
        }
        for (message, change) in composed.stories {
            for row in change.unsent { try remove(row) }
            try remember(change, row: try insert(message, feed: feed, now: now), in: category, feed: feed, now: now)
        }
        for (row, change) in composed.translated {
            try remember(change, row: row, in: category, feed: feed, now: now)
        }
        guard !(composed.stories.isEmpty && composed.closed.isEmpty && composed.translated.isEmpty) else { return }
        try run(
            """
            DELETE FROM story WHERE category = ?1 AND id <=
            (SELECT id FROM story WHERE category = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
            """,
            [category, Self.keptStories]
        )
    }

    /// Stores a story and the row that announces it; a story without a row has ended.
    private func remember(
        _ change: StoryChange,
        row: Int64?,
        in category: String,
        feed: Int64,
        now: Date
    ) throws {
        let content = change.content.map { Data($0.bytes) }
        let alert = change.alert.map { Data($0.key.bytes) }
        let sent = change.alert?.sent.timestamp
        let text = change.text.map { Data($0.bytes) }
        let isWithdrawn = change.status == .withdrawn || row == nil
        for name in change.merges {
            try run(
                """
                UPDATE story SET name = ?, feed = ?, outbox = ?, content = ?, isWithdrawn = ?, alertKey = ?,
                alertSent = ?, text = ?, published = ? WHERE category = ? AND name = ? AND (? OR language = ?)
                """,
                [
                    change.name, feed, row, content, isWithdrawn, alert, sent, text, change.published?.timestamp,
                    category, name, change.isForAll, change.language,
                ]
            )
        }
        // A title that appears again after the window belongs to another story, which replaces the former one.
        for key in change.keys {
            try run(
                """
                INSERT OR REPLACE INTO story
                (category, key, firstSeen, feed, outbox, name, content, isWithdrawn, alertKey, alertSent, language,
                text, published) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    category, Data(key.bytes), now.timestamp, feed, row, change.name, content, isWithdrawn, alert,
                    sent, change.language, text, change.published?.timestamp,
                ]
            )
        }
    }
}

extension KnownStory {
    /// Reads a row of `story`, and the row of its message while that is kept.
    fileprivate init(_ row: Row) throws {
        self.init(
            feed: try row.decode(forColumn: "teller"),
            announced: try row.decode(Timestamp.self, forColumn: "firstSeen").date,
            row: try row.decode(forColumn: "id")
        )
        name = try row.decode(forColumn: "name")
        language = try row.decode(forColumn: "language")
        content = try row.key("content")
        text = try row.key("text")
        published = try row.date("published")
        isWithdrawn = try row.decode(forColumn: "isWithdrawn")
        if let key = try row.key("alertKey"), let sent = try row.date("alertSent") {
            alert = LastAlert(key: key, sent: sent)
        }
        guard self.row != nil else { return }
        let message = try OutboxMessage(row)
        headline = message.headlines(in: language)
        let created = try row.decode(Timestamp.self, forColumn: "created").date
        if message.status == .correction { corrected = max(created, message.notBefore ?? created) }
        let wasShownBefore = !message.replaces.isEmpty
        switch (try row.decode(String.self, forColumn: "state"), try row.decode(Bool.self, forColumn: "isAttempted")) {
        case ("pending", false):
            unsent = message
            showing = wasShownBefore ? .singly : .never
        case ("failed", _): showing = wasShownBefore ? .singly : .never
        case ("folded", _): showing = .inDigest
        default: showing = .singly
        }
    }
}
