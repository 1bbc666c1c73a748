import HubProtocol

/// Tells whether the wall clock can be trusted with deleting.
///
/// A clock that is wrong at boot, or that jumps, must not delete news: expiry waits until the wall clock and the
/// monotonic clock have gone side by side for a while.
struct ClockGuard {
    /// How far the two clocks may drift apart between two looks.
    static let tolerance = Duration.seconds(60)
    /// How long they must agree after a jump.
    static let settling = Duration.seconds(3_600)

    enum Verdict: Equatable {
        case steady
        /// The clock has just jumped by so much; said once.
        case jumped(Duration)
        case settling
    }

    private var last: (wall: Timestamp, monotonic: Duration)
    private var settledAt: Duration
    /// How far the clock of this start is behind what was noted before it; `nil` for a clock that is not behind.
    let behind: Duration?

    /// `lastSeen` is the wall clock as it was last noted before this start; a start after more than `longestAbsence` may as
    /// well be a wrong clock.
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
