import Signals
import Synchronization

/// Limits how often each key may do something within any minute.
package final class MinuteLimiter<Key: Hashable & Sendable>: Sendable {
    static var window: Duration { .seconds(60) }
    /// The largest number of remembered keys.
    static var maximumKeys: Int { 10_000 }

    private let limit: Int
    private let clock: @Sendable () -> Duration
    /// When each key was used within the last minute, in order; the key that was not used for longest is forgotten first.
    private let uses = Mutex(BoundedTable<Key, [Duration]>(maximumCount: maximumKeys))

    /// - Parameters:
    ///   - limit: Uses of a key in a minute, at least 1.
    ///   - clock: A clock that never jumps.
    package init(_ limit: Int, clock: @escaping @Sendable () -> Duration) {
        self.limit = limit
        self.clock = clock
    }

    /// Counts one use of a key.
    ///
    /// - Returns: `nil` if the use is within the limit; otherwise the time to wait. A refused use does not count.
    package func admit(_ key: Key) -> Duration? { wait(key, counting: true) }

    /// The time until a key can be used again; `nil` if it can be used now.
    ///
    /// This call does not count as a use.
    package func wait(_ key: Key) -> Duration? { wait(key, counting: false) }

    private func wait(_ key: Key, counting isUse: Bool) -> Duration? {
        let now = clock()
        return uses.withLock { uses in
            let times = (uses[key] ?? []).filter { now - $0 < Self.window }
            if times.count >= limit { return times[times.count - limit] + Self.window - now }
            if isUse { uses[key] = times + [now] }
            return nil
        }
    }

    /// Number of remembered keys.
    var count: Int { uses.withLock { $0.count } }
}
