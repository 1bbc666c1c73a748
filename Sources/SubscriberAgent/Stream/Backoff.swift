/// The waits between attempts to reach the hub: bounded doubling with full jitter.
///
/// Full jitter, so that the agents of a hub that restarts do not all return at once.
struct Backoff: Sendable, Equatable {
    /// The base until the hub sends `retry:`.
    static let defaultBase = Duration.seconds(2)
    static let leastBase = Duration.milliseconds(100)
    static let ceiling = Duration.seconds(60)
    /// Longest wait in the first minutes of an outage: most outages are restarts.
    ///
    /// After an outage of 45 s, half of the agents are back within six seconds of the hub's return and nearly all
    /// within 18, at most a tenth of them in one second.
    static let earlyCeiling = Duration.seconds(20)
    /// The sum of waits up to which ``earlyCeiling`` applies.
    static let early = Duration.seconds(120)
    /// Longest `Retry-After` that is honoured in full.
    static let longestRetryAfter = Duration.seconds(600)

    /// The stream's `retry:`, within ``leastBase`` and ``ceiling``.
    var base = Backoff.defaultBase {
        didSet { base = min(max(base, Self.leastBase), Self.ceiling) }
    }
    private var failures = 0
    /// The sum of the waits in this outage.
    private var waited = Duration.zero

    /// Resets the waits; call it when an event has arrived, since a connection alone does not show that the hub works.
    mutating func reset() { (failures, waited) = (0, .zero) }

    /// Returns the next wait, at least as long as the hub asks for; `random` is from 0 up to 1.
    mutating func next(retryAfter: Duration? = nil, random: Double) -> Duration {
        // 2^10 times the least base exceeds the ceiling.
        let ceiling = waited < Self.early ? max(Self.earlyCeiling, base) : Self.ceiling
        let bound = min(base * (1 << min(failures, 10)), ceiling)
        failures += 1
        let jitter = bound * random
        let wait = retryAfter.map { min(max($0, .zero), Self.longestRetryAfter) + min(jitter, base) } ?? jitter
        waited += wait
        return wait
    }
}
