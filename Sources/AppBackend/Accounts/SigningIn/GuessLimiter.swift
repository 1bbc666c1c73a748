import Synchronization

/// Slows down password guessing, for each pair of user and client network.
///
/// After ``freeAttempts`` each further attempt has to wait: first one second, then twice the previous wait. A user is
/// never locked out on other networks, and names without an account are treated alike. An attempt counts as failed
/// until it succeeds, so that simultaneous guesses all count.
final class GuessLimiter: Sendable {
    struct Key: Hashable, Sendable {
        let user: String
        let network: ClientNetwork

        init(_ user: UserName, _ network: ClientNetwork) {
            self.user = user.key
            self.network = network
        }
    }

    enum Admission: Equatable {
        case admitted
        case refused(retryAfter: Duration)
    }

    /// The number of attempts without a wait, for typing errors and devices with an old password.
    static let freeAttempts = 5
    static let firstDelay = Duration.seconds(1)
    static let longestDelay = Duration.seconds(300)
    /// The time from the last failure until failures are forgotten.
    static let memory = Duration.seconds(3_600)
    /// The largest number of remembered pairs, about 2 MB.
    static let maximumKeys = 16_384

    private struct Failures {
        var count = 0
        var lastAt: Duration
        /// The time from which the next attempt is admitted.
        var opensAt: Duration
    }

    private let clock: @Sendable () -> Duration
    private let table = Mutex<[Key: Failures]>([:])

    init(clock: @escaping @Sendable () -> Duration) { self.clock = clock }

    /// Counts an attempt as failed until ``succeed(_:)``; a refused attempt does not count.
    func begin(_ key: Key) -> Admission {
        let now = clock()
        return table.withLock { table in
            var failures = table[key] ?? Failures(lastAt: now, opensAt: now)
            if now - failures.lastAt >= Self.memory { failures = Failures(lastAt: now, opensAt: now) }
            guard now >= failures.opensAt else { return .refused(retryAfter: failures.opensAt - now) }
            if table[key] == nil { Self.makeRoom(in: &table, now) }
            failures.count += 1
            failures.lastAt = now
            failures.opensAt = now + Self.delay(after: failures.count)
            table[key] = failures
            return .admitted
        }
    }

    /// Forgets the failures of a pair that has presented the right password.
    func succeed(_ key: Key) { table.withLock { $0[key] = nil } }

    /// Removes an attempt that ended without a result.
    func cancel(_ key: Key) {
        table.withLock { table in
            guard var failures = table[key] else { return }
            failures.count -= 1
            failures.opensAt = failures.lastAt + Self.delay(after: failures.count)
            table[key] = failures.count > 0 ? failures : nil
        }
    }

    /// Number of remembered pairs.
    var count: Int { table.withLock { $0.count } }

    /// The wait before the next attempt.
    static func delay(after failures: Int) -> Duration {
        guard failures >= freeAttempts else { return .zero }
        // 2⁹ seconds exceed the longest delay.
        return min(firstDelay * (1 << min(failures - freeAttempts, 9)), longestDelay)
    }

    /// Drops outdated entries when the table is full, then the quarter with the fewest failures, oldest first.
    private static func makeRoom(in table: inout [Key: Failures], _ now: Duration) {
        guard table.count >= maximumKeys else { return }
        table = table.filter { now - $0.value.lastAt < memory }
        let room = maximumKeys / 4
        guard table.count > maximumKeys - room else { return }
        let least = table.sorted { ($0.value.count, $0.value.lastAt) < ($1.value.count, $1.value.lastAt) }
        for (key, _) in least.prefix(table.count - maximumKeys + room) { table[key] = nil }
    }
}
