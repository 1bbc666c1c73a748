import Synchronization

/// Limits the rate of each key's uses.
///
/// A key costs two numbers, kept only while a part of its burst is used up. Each refused caller gets a different time
/// to wait, so that a crowd does not return all at once.
///
/// Source: the generic cell rate algorithm, ITU-T I.371 annex A.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    /// Maximum number of keys whose use is remembered, in about 2 MB.
    static var maximumKeys: Int { 16_384 }
    /// Longest wait given to a refused caller.
    static var longestWait: Duration { .seconds(60) }

    private struct Use {
        /// The time at which the whole burst is available again, in milliseconds of the clock.
        var restored: Double
        /// The next time to give to a refused caller, in milliseconds of the clock.
        var nextReturn: Double
    }

    private let limit: RateLimit?
    private let clock: @Sendable () -> Duration
    private let uses = Mutex<[Key: Use]>([:])

    /// Creates a limiter without any use so far; a limit of `nil` admits everything.
    init(_ limit: RateLimit?, clock: @escaping @Sendable () -> Duration) {
        self.limit = limit
        self.clock = clock
    }

    /// Counts one use of a key.
    ///
    /// - Returns: `nil` if the use is within the limit; otherwise the time to wait before trying again, above 0 and at
    ///   most ``longestWait``. A refused use does not count.
    func admit(_ key: Key) -> Duration? {
        guard let limit else { return nil }
        let now = clock().inMilliseconds
        let interval = 1000 / limit.perSecond
        let tolerance = interval * Double(limit.burst - 1)
        return uses.withLock { uses in
            var use = uses[key] ?? Use(restored: now, nextReturn: now)
            let opens = use.restored - tolerance
            if opens <= now {
                use.restored = max(use.restored, now) + interval
                if uses[key] == nil { Self.makeRoom(in: &uses, now) }
                uses[key] = use
                return nil
            }
            let returns = min(max(use.nextReturn, opens), now + Self.longestWait.inMilliseconds)
            use.nextReturn = returns + interval
            uses[key] = use
            return .milliseconds(Int64((returns - now).rounded(.up)))
        }
    }

    /// Number of keys whose use is remembered.
    var count: Int { uses.withLock { $0.count } }

    /// Removes keys when there are too many: first those with a whole burst, which loses nothing, then the quarter with
    /// the least use.
    private static func makeRoom(in uses: inout [Key: Use], _ now: Double) {
        guard uses.count >= maximumKeys else { return }
        uses = uses.filter { $0.value.restored > now }
        let room = maximumKeys / 4
        guard uses.count > maximumKeys - room else { return }
        let least = uses.sorted { $0.value.restored < $1.value.restored }.prefix(uses.count - maximumKeys + room)
        for (key, _) in least { uses[key] = nil }
    }
}

extension Duration {
    fileprivate var inMilliseconds: Double {
        Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
    }
}
