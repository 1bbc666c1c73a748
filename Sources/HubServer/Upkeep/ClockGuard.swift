import HubProtocol

/// Decides whether the wall clock can be trusted for deletions.
///
/// A clock that is wrong at boot, or that jumps, must not delete news. Expiry waits until the wall clock and the
/// monotonic clock have agreed for a while.
struct ClockGuard {
    /// Maximum difference between the two clocks' progress from one check to the next.
    static let tolerance = Duration.seconds(60)
    /// Time for which they must agree after a jump.
    static let settling = Duration.seconds(3_600)

    enum Verdict: Equatable {
        case steady
        /// The clock has just jumped by this duration; reported once.
        case jumped(Duration)
        case settling
    }

    private var last: (wall: Timestamp, monotonic: Duration)
    private var settledAt: Duration
    /// Time by which the clock of this start is behind the last stored time; `nil` if it is not behind.
    let behind: Duration?

    /// Starts a guard; `lastSeen` is the wall clock last stored before this start.
    ///
    /// A start after more than `longestAbsence` may indicate a wrong clock.
    init(wall: Timestamp, monotonic: Duration, lastSeen: Timestamp?, longestAbsence: Duration) {
        last = (wall, monotonic)
        behind = lastSeen.flatMap { wall < $0 - Self.tolerance ? $0 - wall : nil }
        let isPlausible = lastSeen.map { wall >= $0 - Self.tolerance && wall - $0 <= longestAbsence } ?? true
        settledAt = isPlausible ? monotonic : monotonic + Self.settling
    }

    mutating func look(wall: Timestamp, monotonic: Duration) -> Verdict {
        let jump = (wall - last.wall) - (monotonic - last.monotonic)
        last = (wall, monotonic)
        if jump > Self.tolerance || jump < .zero - Self.tolerance {
            settledAt = monotonic + Self.settling
            return .jumped(jump)
        }
        return monotonic >= settledAt ? .steady : .settling
    }
}
