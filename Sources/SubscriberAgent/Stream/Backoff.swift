/// The waits between tries to reach the hub: bounded doubling with full jitter.
///
/// Full jitter, so that a thousand agents whose hub restarts do not come back in step.
struct Backoff: Sendable, Equatable {
    /// Before the hub has said otherwise with `retry:`.
    static let defaultBase = Duration.seconds(2)
    static let leastBase = Duration.milliseconds(100)
    static let ceiling = Duration.seconds(60)
    /// Longest `Retry-After` that is honoured in full.
    static let longestRetryAfter = Duration.seconds(600)

    /// The stream's `retry:`, within ``leastBase`` and ``ceiling``.
    var base = Backoff.defaultBase {
        didSet { base = min(max(base, Self.leastBase), Self.ceiling) }
    }
    private var failures = 0

    /// To be called once something came from the hub; a connection alone does not show that the hub is well.
    mutating func reset() { failures = 0 }

    /// The next wait, at least the hub's own wish if it had one; `random` is from 0 up to 1.
    mutating func next(retryAfter: Duration? = nil, random: Double) -> Duration {
        // 2^10 times the least base is above the ceiling.
        let bound = min(base * (1 << min(failures, 10)), Self.ceiling)
        failures += 1
        let jitter = bound * random
        guard let retryAfter else { return jitter }
        return min(max(retryAfter, .zero), Self.longestRetryAfter) + min(jitter, base)
    }
}
