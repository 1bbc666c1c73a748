internal import Feeds
internal import FoundationEssentials
internal import GRDB

/// The keys by which each feed's entries are known.
extension PublisherStore {
    /// Keys kept for a feed: this many, or ``keptDocuments`` times its document, whichever is more.
    static let minimumKeptKeys = 1_000
    static let keptDocuments = 10
    /// Keys of one `IN` list; SQLite takes 32,766 parameters.
    private static let keysPerLookup = 500
    private static let padding = 20

    func seenState(_ db: Database, of record: FeedRecord, _ reading: DocumentReading) throws -> SeenState {
        var state = SeenState()
        var kept = 0
        let contents = Dictionary(reading.entries.map { ($0.key, $0.content) }) { first, _ in first }
        var unknown = Set(contents.keys)
        let sql = "SELECT key, content, last_reading FROM seen WHERE feed = ? AND kind = ? AND key IN"
        for row in try rows(db, having: reading.entries.map(\.key), sql, [record.id, SeenKind.entry.rawValue]) {
            guard let key = try Self.key(row, "key") else { continue }
            state.known.insert(SeenKey(.entry, key))
            unknown.remove(key)
            kept += try row.decode(Int64.self, forColumn: "last_reading") >= reading.lastCompleteReading ? 1 : 0
            if let content = try Self.key(row, "content"), contents[key] != content { state.edited.insert(key) }
        }
        let further = Dictionary(grouping: reading.furtherKeys(unknown), by: \.kind)
        for (kind, keys) in further {
            let sql = "SELECT key FROM seen WHERE feed = ? AND kind = ? AND key IN"
            for row in try rows(db, having: keys.map(\.key), sql, [record.id, kind.rawValue]) {
                if let key = try Self.key(row, "key") { state.known.insert(SeenKey(kind, key)) }
            }
        }
        state.stories = try stories(db, of: reading, unknown, state.edited)
        let before =
            try rows(
                db,
                "SELECT count(*) FROM seen WHERE feed = ? AND kind = ? AND last_reading >= ?",
                [record.id, SeenKind.entry.rawValue, reading.lastCompleteReading]
            ).first.map { try $0.decode(Int.self, atIndex: 0) } ?? 0
        state.vanished = before - kept
        return state
    }

    /// Rows of some keys, asked for in parts by a query that ends in `IN`.
    func rows(
        _ db: Database,
        having keys: [EntryKey],
        _ sql: String,
        _ scope: [(any DatabaseValueConvertible)?]
    ) throws -> [Row] {
        var found: [Row] = []
        var start = 0
        while start < keys.count {
            let part = keys[start..<min(start + Self.keysPerLookup, keys.count)]
            found += try rows(db, "\(sql) \(Self.marks(part.count))", scope + Self.padded(part))
            start += part.count
        }
        return found
    }

    /// As many `?` as a full step of ``padding`` has, so that few statements serve all lengths.
    private static func marks(_ count: Int) -> String {
        let steps = (count + padding - 1) / padding
        return "(" + Array(repeating: "?", count: steps * padding).joined(separator: ",") + ")"
    }

    /// The keys, the last of them repeated to fill a step; it does no harm in an `IN`.
    private static func padded(_ keys: ArraySlice<EntryKey>) -> [(any DatabaseValueConvertible)?] {
        var values = keys.map { Data($0.bytes) }
        while let last = values.last, values.count % padding != 0 { values.append(last) }
        return values
    }

    func mark(
        _ db: Database,
        _ keys: [SeenKey],
        _ entries: [EntryMark],
        of record: FeedRecord,
        now: Date
    ) throws {
        let contents = Dictionary(entries.map { ($0.key, $0.content) }) { first, _ in first }
        for key in keys {
            let content = key.kind == .entry ? contents[key.key] ?? nil : nil
            try run(
                db,
                """
                INSERT INTO seen (feed, kind, key, first_seen, last_reading, content) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET last_reading = excluded.last_reading, content = excluded.content
                """,
                [
                    record.id, key.kind.rawValue, Data(key.key.bytes), Self.milliseconds(now), record.readings,
                    content.map { Data($0.bytes) },
                ]
            )
        }
    }

    /// Forgets the oldest keys, as far as the document's length allows; now and then.
    func forgetMarks(_ db: Database, _ keys: [SeenKey], of record: FeedRecord) throws {
        // What was read in the same document goes together, so there is no hurry.
        guard record.readings % NewsJudge.refreshPeriod == 0 else { return }
        for kind in SeenKind.allCases {
            let length = keys.count { $0.kind == kind }
            try run(
                db,
                """
                DELETE FROM seen WHERE feed = ?1 AND kind = ?2 AND last_reading <
                (SELECT last_reading FROM seen WHERE feed = ?1 AND kind = ?2
                 ORDER BY last_reading DESC LIMIT 1 OFFSET ?3)
                """,
                [record.id, kind.rawValue, max(Self.minimumKeptKeys, length * Self.keptDocuments)]
            )
        }
    }
}
