import FairShares
import Synchronization
import WebEdge

/// Slows down password guessing.
///
/// For each pair of user and client network, each attempt after ``freeAttempts`` has to wait: first one second, then
/// twice the previous wait. Guesses from changing networks or for changing users are counted by user, by password and
/// by each of the client's networks; a user who has signed in from the network, or on the device, before is not subject
/// to these limits and is thus never locked out there. Names without an account are treated alike. An attempt counts as
/// failed until it succeeds, so that simultaneous guesses all count.
final class GuessLimiter: Sendable {
    fileprivate struct Pair: Hashable {
        let user: String
        let network: ClientNetwork
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
    /// Failed attempts for one user from networks that the user has not used before.
    static let ofUser = RateLimit(burst: 50, perSecond: 1.0 / 60)
    /// Failed attempts with one password: a common password is tried with many names.
    static let ofPassword = RateLimit(burst: 20, perSecond: 1.0 / 300)
    /// Failed attempts from one network, and from each that contains it.
    static let ofNetwork = RateLimit(burst: 100, perSecond: 1.0 / 6)

    fileprivate struct Failures {
        var count = 0
        var lastAt: Duration
        /// The time from which the next attempt is admitted.
        var opensAt: Duration
    }

    fileprivate struct State {
        var pairs: [Pair: Failures] = [:]
        var users = RateTable<ShareGroup>(ofUser, longestWait: longestDelay)
        var passwords = RateTable<ShareGroup>(ofPassword, longestWait: longestDelay)
        var networks = RateTable<ShareGroup>(ofNetwork, longestWait: longestDelay)
    }

    private let clock: @Sendable () -> Duration
    private let state = Mutex(State())

    init(clock: @escaping @Sendable () -> Duration) { self.clock = clock }

    /// Counts an attempt as failed until ``succeed(_:)``; a refused attempt does not count.
    func begin(_ attempt: SignInAttempt) -> Admission {
        let (now, pair) = (clock(), Pair(user: attempt.user.key, network: attempt.network))
        return state.withLock { state in
            var failures = state.pairs[pair] ?? Failures(lastAt: now, opensAt: now)
            if now - failures.lastAt >= Self.memory { failures = Failures(lastAt: now, opensAt: now) }
            guard now >= failures.opensAt else { return .refused(retryAfter: failures.opensAt - now) }
            if let wait = state.count(attempt, at: now) { return .refused(retryAfter: wait) }
            if state.pairs[pair] == nil { Self.makeRoom(in: &state.pairs, now) }
            failures.count += 1
            failures.lastAt = now
            failures.opensAt = now + Self.delay(after: failures.count)
            state.pairs[pair] = failures
            return .admitted
        }
    }

    /// Forgets the failures of a pair that has presented the right password.
    func succeed(_ attempt: SignInAttempt) {
        state.withLock { state in
            state.pairs[Pair(user: attempt.user.key, network: attempt.network)] = nil
            state.uncount(attempt)
        }
    }

    /// Removes an attempt that ended without a result.
    func cancel(_ attempt: SignInAttempt) {
        let pair = Pair(user: attempt.user.key, network: attempt.network)
        state.withLock { state in
            state.uncount(attempt)
            guard var failures = state.pairs[pair] else { return }
            failures.count -= 1
            failures.opensAt = failures.lastAt + Self.delay(after: failures.count)
            state.pairs[pair] = failures.count > 0 ? failures : nil
        }
    }

    /// Number of remembered pairs.
    var count: Int { state.withLock { $0.pairs.count } }

    /// The wait before the next attempt.
    static func delay(after failures: Int) -> Duration {
        guard failures >= freeAttempts else { return .zero }
        // 2⁹ seconds exceed the longest delay.
        return min(firstDelay * (1 << min(failures - freeAttempts, 9)), longestDelay)
    }

    /// Drops outdated entries when the table is full, then the quarter with the fewest failures, oldest first.
    private static func makeRoom(in table: inout [Pair: Failures], _ now: Duration) {
        guard table.count >= maximumKeys else { return }
        table = table.filter { now - $0.value.lastAt < memory }
        let room = maximumKeys / 4
        guard table.count > maximumKeys - room else { return }
        let least = table.sorted { ($0.value.count, $0.value.lastAt) < ($1.value.count, $1.value.lastAt) }
        for (key, _) in least.prefix(table.count - maximumKeys + room) { table[key] = nil }
    }
}

extension GuessLimiter.State {
    private typealias Table = WritableKeyPath<Self, RateTable<ShareGroup>>

    /// The tables in which an attempt counts, with its keys there.
    private static func uses(_ attempt: SignInAttempt) -> [(Table, ShareGroup)] {
        guard !attempt.isKnown else { return [] }
        let groups = attempt.groups
        // Clients that cannot be distinguished would lock each other out.
        let networks = attempt.network.isEverybody ? [] : groups[0].map { (\Self.networks as Table, $0) }
        return groups[1].map { (\Self.users as Table, $0) } + groups[2].map { (\Self.passwords as Table, $0) }
            + networks
    }

    /// - Returns: `nil` if the attempt is within all limits; otherwise nothing is counted.
    fileprivate mutating func count(_ attempt: SignInAttempt, at now: Duration) -> Duration? {
        let uses = Self.uses(attempt)
        for (index, (table, key)) in uses.enumerated() {
            guard let wait = self[keyPath: table].admit(key, at: now) else { continue }
            for (table, key) in uses[..<index] { self[keyPath: table].giveBack(key) }
            return wait
        }
        return nil
    }

    fileprivate mutating func uncount(_ attempt: SignInAttempt) {
        for (table, key) in Self.uses(attempt) { self[keyPath: table].giveBack(key) }
    }
}
