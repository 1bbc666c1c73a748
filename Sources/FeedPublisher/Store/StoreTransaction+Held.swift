internal import Feeds
internal import Formats
internal import FoundationEssentials
internal import GRDB
internal import HubProtocol

/// The entries that are held until their dates.
extension StoreTransaction {
    /// Returns a feed's held entries that are due, earliest first.
    func heldEntries(of feed: Int64, dueAt now: Date) throws -> [HeldEntry] {
        try rows("SELECT entry FROM held WHERE feed = ? AND due <= ? ORDER BY due", [feed, now.timestamp]).map { row in
            let text = try row.decode(String.self, forColumn: "entry")
            return try JSONReader.decode(HeldEntry.self, from: text, limits: .stored)
        }
    }

    /// Stores the entries of a document that are held, and forgets those that no longer are.
    ///
    /// - Returns: The earliest date of the feed's held entries.
    func hold(_ entries: [(key: EntryKey, until: Date?, entry: Entry)], of feed: FeedRecord) throws -> Date? {
        var count =
            try rows("SELECT count(*) AS n FROM held WHERE feed = ?", [feed.id]).first?
            .decode(Int.self, forColumn: "n") ?? 0
        for (key, until, entry) in entries {
            guard let until else {
                if count > 0 { try run("DELETE FROM held WHERE feed = ? AND key = ?", [feed.id, Data(key.bytes)]) }
                continue
            }
            guard count < HeldEntry.maximumCount else { continue }
            let text = String(decoding: try JSONEncoder().encode(HeldEntry(entry)), as: UTF8.self)
            try run(
                "INSERT OR REPLACE INTO held (feed, key, due, entry) VALUES (?, ?, ?, ?)",
                [feed.id, Data(key.bytes), until.timestamp, text]
            )
            count += 1
        }
        guard count > 0 else { return nil }
        return try rows("SELECT min(due) AS due FROM held WHERE feed = ?", [feed.id]).first?.date("due")
    }
}
