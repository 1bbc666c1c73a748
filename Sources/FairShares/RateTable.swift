/// Counts each key's uses, and says when the next one is within a limit on their rate.
///
/// A key costs two numbers, kept only while a part of its burst is used up. Each refused caller gets a different time
/// to wait, so that a crowd does not return all at once.
///
/// Source: the generic cell rate algorithm, ITU-T I.371 annex A.
package struct RateTable<Key: Hashable & Sendable>: Sendable {
    /// Maximum number of keys whose use is remembered, in about 2 MB.
    package static var maximumKeys: Int { 16_384 }

    private struct Use {
        /// The time at which the whole burst is available again, in milliseconds of the clock.
        var restored: Double
        /// The next time to give to a refused caller, in milliseconds of the clock.
        var nextReturn: Double
    }

    private let interval: Double
    private let tolerance: Double
    private let longestWait: Double
    private var uses: [Key: Use] = [:]

    /// - Parameters:
    ///   - limit: The limit of each key.
    ///   - longestWait: Longest wait given to a refused caller.
    package init(_ limit: RateLimit, longestWait: Duration = .seconds(60)) {
        interval = 1000 / limit.perSecond
        tolerance = interval * Double(limit.burst - 1)
        self.longestWait = longestWait.inMilliseconds
    }

    /// Counts one use of a key; `time` is the reading of a clock that never jumps.
    ///
    /// - Returns: `nil` if the use is within the limit; otherwise the time to wait before trying again, above 0 and at
    ///   most the longest wait. A refused use does not count.
    package mutating func admit(_ key: Key, at time: Duration) -> Duration? {
        let now = time.inMilliseconds
        var use = uses[key] ?? Use(restored: now, nextReturn: now)
        let opens = use.restored - tolerance
        if opens <= now {
            use.restored = max(use.restored, now) + interval
            if uses[key] == nil { makeRoom(now) }
            uses[key] = use
            return nil
        }
        let returns = min(max(use.nextReturn, opens), now + longestWait)
        use.nextReturn = returns + interval
        uses[key] = use
        return .milliseconds(Int64((returns - now).rounded(.up)))
    }

    /// Uncounts a use that was admitted.
    package mutating func giveBack(_ key: Key) {
        guard var use = uses[key] else { return }
        use.restored -= interval
        uses[key] = use
    }

    /// Number of keys whose use is remembered.
    package var count: Int { uses.count }

    /// Removes keys when there are too many: first those with a whole burst, which loses nothing, then the quarter with
    /// the least use.
    private mutating func makeRoom(_ now: Double) {
        guard uses.count >= Self.maximumKeys else { return }
        uses = uses.filter { $0.value.restored > now }
        let room = Self.maximumKeys / 4
        guard uses.count > Self.maximumKeys - room else { return }
        let least = uses.sorted { $0.value.restored < $1.value.restored }.prefix(uses.count - Self.maximumKeys + room)
        for (key, _) in least { uses[key] = nil }
    }
}

extension Duration {
    fileprivate var inMilliseconds: Double {
        Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
    }
}
