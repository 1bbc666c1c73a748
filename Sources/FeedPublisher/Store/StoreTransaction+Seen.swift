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
        let marks = Dictionary(entries.map { ($0.key, $0) }) { first, _ in first }
        state.unknown = Set(marks.keys)
        let sql = "SELECT key, content, lastReading FROM seen WHERE feed = ? AND kind = ? AND key IN"
        for row in try rows(having: entries.map(\.key), sql, [feed.id, SeenKind.entry.rawValue]) {
            guard let key = try row.key("key") else { continue }
            state.known.insert(SeenKey(.entry, key))
            state.unknown.remove(key)
            kept += try row.decode(Int64.self, forColumn: "lastReading") >= feed.completeReading ? 1 : 0
            guard let content = try row.key("content"), let mark = marks[key], content != mark.content,
                content != mark.formerContent
            else { continue }
            // Earlier versions hashed signatures in the addresses of files, so a difference says nothing.
            let isUpgrade = feed.keysVersion < FeedRecord.currentKeys
            if !(isUpgrade && mark.formerContent != nil) { state.edited.insert(key) }
        }
        let before = try rows(
            "SELECT count(*) AS n FROM seen WHERE feed = ? AND kind = ? AND lastReading >= ?",
            [feed.id, SeenKind.entry.rawValue, feed.completeReading]
        ).first?.decode(Int.self, forColumn: "n")
        state.before = before ?? 0
        state.vanished = state.before - kept
        return state
    }

    /// Looks up further keys of a feed's document.
    func seen(_ keys: [SeenKey], of feed: Int64, into state: inout SeenState) throws {
        for (kind, keys) in Dictionary(grouping: keys, by: \.kind) {
            let sql = "SELECT key, content, title, date, isShared FROM seen WHERE feed = ? AND kind = ? AND key IN"
            for row in try rows(having: keys.map(\.key), sql, [feed, kind.rawValue]) {
                guard let key = try row.key("key") else { continue }
                state.known.insert(SeenKey(kind, key))
                guard kind == .link || kind == .title else { continue }
                var mark = SeenMark(kind, key, content: try row.key("content"))
                mark.title = try row.key("title")
                mark.date = try row.date("date")
                mark.isShared = try row.decode(forColumn: "isShared")
                state.details[mark.key] = mark
            }
        }
    }

    /// Marks keys as seen by the last reading of a feed.
    func mark(_ marks: [SeenMark], of feed: FeedRecord, now: Date) throws {
        for mark in marks {
            try run(
                """
                INSERT INTO seen (feed, kind, key, firstSeen, lastReading, content, title, date, isShared)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET lastReading = excluded.lastReading,
                title = iif(excluded.content IS NULL, title, excluded.title),
                date = iif(excluded.content IS NULL, date, excluded.date),
                content = coalesce(excluded.content, content), isShared = max(isShared, excluded.isShared)
                """,
                [
                    feed.id, mark.key.kind.rawValue, Data(mark.key.key.bytes), now.timestamp, feed.readings,
                    mark.content.map { Data($0.bytes) }, mark.title.map { Data($0.bytes) }, mark.date?.timestamp,
                    mark.isShared,
                ]
            )
        }
    }

    /// Deletes the oldest keys above a limit that depends on the length of a whole document; most calls do nothing.
    func forgetMarks(beside marks: [SeenMark], of feed: FeedRecord) throws {
        // Keys that were read in the same document are deleted together, so this can wait.
        guard feed.readings % NewsJudge.refreshPeriod == 0 else { return }
        for kind in SeenKind.allCases {
            let length = marks.count { $0.key.kind == kind }
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
