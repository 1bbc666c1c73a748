internal import Feeds
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// The keys that identify each feed's entries.
extension StoreTransaction {
    /// Minimum number of keys kept for a feed; ``keptDocuments`` times its document, if that is more.
    static let minimumKeptKeys = 1_000
    static let keptDocuments = 10

    /// Returns the stored state of a document's entries, by their identities.
    ///
    /// `feed` is the feed's record from before the document.
    func seen(_ entries: [EntryMark], of feed: FeedRecord) throws -> SeenState {
        var state = SeenState()
        var kept = 0
        let contents = Dictionary(entries.map { ($0.key, $0.content) }) { first, _ in first }
        state.unknown = Set(contents.keys)
        let sql = "SELECT key, content, lastReading FROM seen WHERE feed = ? AND kind = ? AND key IN"
        for row in try rows(having: entries.map(\.key), sql, [feed.id, SeenKind.entry.rawValue]) {
            guard let key = try row.key("key") else { continue }
            state.known.insert(SeenKey(.entry, key))
            state.unknown.remove(key)
            kept += try row.decode(Int64.self, forColumn: "lastReading") >= feed.completeReading ? 1 : 0
            if let content = try row.key("content"), contents[key] != content { state.edited.insert(key) }
        }
        let before = try rows(
            "SELECT count(*) AS n FROM seen WHERE feed = ? AND kind = ? AND lastReading >= ?",
            [feed.id, SeenKind.entry.rawValue, feed.completeReading]
        ).first?.decode(Int.self, forColumn: "n")
        state.vanished = (before ?? 0) - kept
        return state
    }

    /// Returns the members of `keys` that a feed had before.
    func seen(_ keys: [SeenKey], of feed: Int64) throws -> [SeenKey] {
        try Dictionary(grouping: keys, by: \.kind).flatMap { kind, keys in
            let sql = "SELECT key FROM seen WHERE feed = ? AND kind = ? AND key IN"
            return try rows(having: keys.map(\.key), sql, [feed, kind.rawValue]).compactMap { row in
                try row.key("key").map { SeenKey(kind, $0) }
            }
        }
    }

    /// Marks keys as seen by the last reading of a feed.
    func mark(_ keys: [SeenKey], _ entries: [EntryMark], of feed: FeedRecord, now: Date) throws {
        let contents = Dictionary(entries.map { ($0.key, $0.content) }) { first, _ in first }
        for key in keys {
            let content = key.kind == .entry ? contents[key.key] ?? nil : nil
            try run(
                """
                INSERT INTO seen (feed, kind, key, firstSeen, lastReading, content) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET lastReading = excluded.lastReading, content = excluded.content
                """,
                [
                    feed.id, key.kind.rawValue, Data(key.key.bytes), now.timestamp, feed.readings,
                    content.map { Data($0.bytes) },
                ]
            )
        }
    }

    /// Deletes the oldest keys above a limit that depends on the length of a whole document; most calls do nothing.
    func forgetMarks(beside keys: [SeenKey], of feed: FeedRecord) throws {
        // Keys that were read in the same document are deleted together, so this can wait.
        guard feed.readings % NewsJudge.refreshPeriod == 0 else { return }
        for kind in SeenKind.allCases {
            let length = keys.count { $0.kind == kind }
            try run(
                """
                DELETE FROM seen WHERE feed = ?1 AND kind = ?2 AND lastReading <
                (SELECT lastReading FROM seen WHERE feed = ?1 AND kind = ?2
                 ORDER BY lastReading DESC LIMIT 1 OFFSET ?3)
                """,
                [feed.id, kind.rawValue, max(Self.minimumKeptKeys, length * Self.keptDocuments)]
            )
        }
    }
}
