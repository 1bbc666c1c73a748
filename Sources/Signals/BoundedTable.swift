/// A dictionary of the most recently used values: for what can be computed again, or may be forgotten.
///
/// Bound: a number of values and a sum of their sizes; the values that were not used for longest are dropped.
///
/// Finding, keeping and dropping take constant time on average. It is a value without a lock, and never waits.
package struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        var value: Value
        var bytes: Int
        var use: Int
    }

    private let maximumCount: Int
    private let maximumBytes: Int
    private var entries: [Key: Entry] = [:]
    /// All uses in order, including some after which the key was used again or removed.
    private var uses: [(key: Key, use: Int)] = []
    /// Index of the first of `uses` that was not examined for dropping.
    private var head = 0
    private var lastUse = 0
    /// The size of all values.
    package private(set) var bytes = 0

    /// - Parameters:
    ///   - maximumCount: Maximum number of values, at least 1.
    ///   - maximumBytes: Maximum of ``bytes``, exceeded only by a single value that is larger.
    package init(maximumCount: Int, maximumBytes: Int = .max) {
        self.maximumCount = max(1, maximumCount)
        self.maximumBytes = maximumBytes
    }

    package var count: Int { entries.count }

    /// The value of a key.
    ///
    /// Reading is not a use. Setting is, and drops the values that were not used for longest if there is no room; the
    /// value has no size.
    package subscript(key: Key) -> Value? {
        get { entries[key]?.value }
        set { if let newValue { keep(newValue, bytes: 0, for: key) } else { remove(key) } }
    }

    /// Records that a value was used.
    package mutating func use(_ key: Key) {
        guard entries[key] != nil else { return }
        lastUse += 1
        entries[key]?.use = lastUse
        uses.append((key, lastUse))
        guard uses.count > 2 * entries.count + 16 else { return }
        uses = uses[head...].filter { entries[$0.key]?.use == $0.use }
        head = 0
    }

    /// Adds or replaces a value, and drops those that were not used for longest if there is no room.
    package mutating func keep(_ value: Value, bytes size: Int, for key: Key) {
        bytes += size - (entries[key]?.bytes ?? 0)
        entries[key] = Entry(value: value, bytes: size, use: 0)
        use(key)
        // The value that was just kept is the last one used, so it stays.
        while entries.count > 1, entries.count > maximumCount || bytes > maximumBytes {
            let oldest = uses[head]
            head += 1
            if entries[oldest.key]?.use == oldest.use { remove(oldest.key) }
        }
    }

    private mutating func remove(_ key: Key) { bytes -= entries.removeValue(forKey: key)?.bytes ?? 0 }
}
