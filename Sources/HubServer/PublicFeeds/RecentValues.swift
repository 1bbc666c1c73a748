/// The most recently used values, limited in number and in bytes.
struct RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        var value: Value
        var bytes: Int
        var lastUse: Int
    }

    private let maximumCount: Int
    private let maximumBytes: Int
    private var entries: [Key: Entry] = [:]
    /// Number of uses so far, by which entries are ordered.
    private var uses = 0
    /// The size of all entries; not computed on demand, because a page view may use a hundred of them.
    private(set) var bytes = 0

    /// - Parameters:
    ///   - maximumCount: At least 1.
    ///   - maximumBytes: Exceeded only by a single value that is larger.
    init(maximumCount: Int, maximumBytes: Int) {
        self.maximumCount = maximumCount
        self.maximumBytes = maximumBytes
    }

    var count: Int { entries.count }

    /// Looks up a value, which does not count as a use.
    subscript(key: Key) -> Value? { entries[key]?.value }

    /// Records that a value was used.
    mutating func use(_ key: Key) {
        uses += 1
        entries[key]?.lastUse = uses
    }

    /// Adds or replaces a value, and drops the least recently used values if there is no room.
    mutating func keep(_ value: Value, bytes size: Int, for key: Key) {
        uses += 1
        bytes += size - (entries[key]?.bytes ?? 0)
        entries[key] = Entry(value: value, bytes: size, lastUse: uses)
        while entries.count > 1, entries.count > maximumCount || bytes > maximumBytes {
            // The value that was just added is the newest, so it stays.
            guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
            bytes -= oldest.value.bytes
            entries[oldest.key] = nil
        }
    }
}
