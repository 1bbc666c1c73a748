import FairShares
import Synchronization

/// Limits the rate of each key's uses.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    private let clock: @Sendable () -> Duration
    /// `nil` without a limit.
    private let table: Mutex<RateTable<Key>?>

    /// Creates a limiter without any use so far; a limit of `nil` admits everything.
    init(_ limit: RateLimit?, clock: @escaping @Sendable () -> Duration) {
        self.clock = clock
        table = Mutex(limit.map { RateTable($0) })
    }

    /// Counts one use of a key.
    ///
    /// - Returns: As ``RateTable/admit(_:at:)``.
    func admit(_ key: Key) -> Duration? { table.withLock { $0?.admit(key, at: clock()) } }

    /// Number of keys whose use is remembered.
    var count: Int { table.withLock { $0?.count ?? 0 } }
}
