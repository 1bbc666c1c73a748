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
        var kept = Set(try rows("SELECT key FROM held WHERE feed = ?", [feed.id]).compactMap { try $0.key("key") })
        for (key, until, entry) in entries {
            guard let until else {
                if kept.remove(key) != nil {
                    try run("DELETE FROM held WHERE feed = ? AND key = ?", [feed.id, Data(key.bytes)])
                }
                continue
            }
            guard kept.contains(key) || kept.count < HeldEntry.maximumCount else { continue }
            let text = try JSONEncoder.sorted.text(HeldEntry(entry))
            try run(
                "INSERT OR REPLACE INTO held (feed, key, due, entry) VALUES (?, ?, ?, ?)",
                [feed.id, Data(key.bytes), until.timestamp, text]
            )
            kept.insert(key)
        }
        guard !kept.isEmpty else { return nil }
        return try rows("SELECT min(due) AS due FROM held WHERE feed = ?", [feed.id]).first?.date("due")
    }
}
