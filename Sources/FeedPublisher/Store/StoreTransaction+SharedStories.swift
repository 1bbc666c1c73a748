internal import Feeds
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// Stories that several categories announce.
extension StoreTransaction {
    /// Gives announcements the names and versions that their stories have in other categories.
    func sharing(
        _ announcements: [Announcement],
        in category: String,
        now: Date,
        random: @escaping () -> String
    ) throws -> [Announcement] {
        guard !announcements.isEmpty else { return [] }
        let shared = SharedStories(secret: try versionSecret(random), now: now, random: random)
        let keys = Set(announcements.flatMap(\.change.keys))
        let elsewhere = try storiesElsewhere(keys, than: category)
        var places: [EntryKey: [Int]] = [:]
        for (place, story) in elsewhere.enumerated() {
            for key in story.keys { places[key, default: []].append(place) }
        }
        var taken = Set(announcements.map(\.change.name))
        return try announcements.map { announcement in
            var announcement = announcement
            let entry = SharedEntry(announcement)
            let own = Set(announcement.change.keys)
            let stories = Set(own.flatMap { places[$0] ?? [] }).map { elsewhere[$0].limited(to: own) }
            var last = try lastVersion(of: announcement.change, in: category)
            if !last.isKnown, announcement.change.merges.isEmpty,
                let name = try shared.name(
                    of: entry,
                    in: stories,
                    unless: { try taken.contains($0) || hasStory($0, in: category) }
                )
            {
                announcement.change.name = name
                taken.insert(name)
                last.version = nil
            }
            announcement.change.version = shared.version(
                announcement.change,
                of: entry,
                in: stories,
                last: last.version
            )
            return announcement
        }
    }

    private func versionSecret(_ random: () -> String) throws -> String {
        if let secret = try note(.versionSecret) { return secret }
        let secret = random()
        try setNote(.versionSecret, secret)
        return secret
    }

    /// Returns the stories of all other categories by some keys, one for each category, name and language.
    private func storiesElsewhere(_ keys: Set<EntryKey>, than category: String) throws -> [StoryElsewhere] {
        var stories: [[String]: StoryElsewhere] = [:]
        for row in try rows(having: keys.sorted { $0.description < $1.description }, SharedQuery.elsewhere, [category])
        {
            guard let key = try row.key("key") else { continue }
            let story = try StoryElsewhere(row, key)
            let place = [try row.decode(String.self, forColumn: "category"), story.name, story.language]
            var known = stories[place] ?? story
            known.keys.insert(key)
            known.announced = min(known.announced, story.announced)
            stories[place] = known
        }
        return Array(stories.values)
    }

    private func hasStory(_ name: String, in category: String) throws -> Bool {
        try !rows("SELECT 1 FROM story WHERE category = ? AND name = ? LIMIT 1", [category, name]).isEmpty
    }

    /// Returns whether a category has announced a story already, and the version that it announced last.
    private func lastVersion(
        of change: StoryChange,
        in category: String
    ) throws -> (isKnown: Bool, version: String?) {
        let found = try rows(SharedQuery.last, [category, change.name, change.language])
        guard let row = found.first else { return (try hasStory(change.name, in: category), nil) }
        return (true, try row.decode(String?.self, forColumn: "version"))
    }
}

/// The statements of this file, separate so that a test can check their query plans.
enum SharedQuery {
    private static let version = """
        iif(json_valid(CAST(outbox.body AS TEXT)), json_extract(CAST(outbox.body AS TEXT), '$.version'), NULL) AS version
        """

    /// Seeks each other category, and in it each key: both are the beginning of an index.
    static let elsewhere = """
        WITH RECURSIVE other (category) AS (
            SELECT min(category) FROM story
            UNION ALL
            SELECT (SELECT min(category) FROM story WHERE category > other.category) FROM other
            WHERE other.category IS NOT NULL
        )
        SELECT story.key, story.category, story.name, story.language, story.firstSeen, story.content,
            outbox.status, outbox.created, \(version)
        FROM other CROSS JOIN story ON story.category = other.category
        LEFT JOIN outbox ON outbox.id = story.outbox
        WHERE other.category <> ? AND story.key IN
        """

    static let last = """
        SELECT \(version) FROM story LEFT JOIN outbox ON outbox.id = story.outbox
        WHERE story.category = ? AND story.name = ? AND story.language = ? LIMIT 1
        """
}

extension StoryElsewhere {
    fileprivate init(_ row: Row, _ key: EntryKey) throws {
        let version = try row.decode(String?.self, forColumn: "version")
        let status = try row.decode(String?.self, forColumn: "status").flatMap(MessageStatus.init)
        let created = try row.date("created")
        self.init(
            name: try row.decode(forColumn: "name"),
            language: try row.decode(forColumn: "language"),
            keys: [key],
            announced: try row.decode(Timestamp.self, forColumn: "firstSeen").date,
            content: try row.key("content"),
            last: version.flatMap { version in
                created.map { LastMessage(status: status, version: version, created: $0) }
            }
        )
    }

    /// Returns the story as it is found by some of its keys.
    fileprivate func limited(to keys: Set<EntryKey>) -> StoryElsewhere {
        var story = self
        story.keys.formIntersection(keys)
        return story
    }
}
