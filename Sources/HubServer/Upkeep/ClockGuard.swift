/// Tells whether the wall clock can be trusted with deleting.
///
/// A clock that is wrong at boot, or that jumps, must not delete news: expiry waits until the wall clock and the
/// monotonic clock have gone side by side for a while.
struct ClockGuard {
    /// How far the two clocks may drift apart between two looks, in milliseconds.
    static let tolerance: Int64 = 60_000
    /// How long they must agree after a jump, in milliseconds.
    static let settling: Int64 = 3_600_000

    enum Verdict: Equatable {
        case steady
        /// The clock has just jumped by so many milliseconds; said once.
        case jumped(Int64)
        case settling
    }

    private var last: (wall: Int64, monotonic: Int64)
    private var settledAt: Int64

    /// - Parameters:
    ///   - wall: Milliseconds since 1970.
    ///   - monotonic: Milliseconds of a clock that never jumps.
    ///   - lastSeen: The wall clock as it was last noted before this start, `nil` on a first start.
    ///   - longestAbsence: A start after more than this, in milliseconds, may as well be a wrong clock.
    init(wall: Int64, monotonic: Int64, lastSeen: Int64?, longestAbsence: Int64) {
        last = (wall, monotonic)
        let isPlausible = lastSeen.map { wall >= $0 - Self.tolerance && wall - $0 <= longestAbsence } ?? true
        settledAt = isPlausible ? monotonic : monotonic + Self.settling
    }

    mutating func look(wall: Int64, monotonic: Int64) -> Verdict {
        let jump = (wall - last.wall) - (monotonic - last.monotonic)
        last = (wall, monotonic)
        if abs(jump) > Self.tolerance {
            settledAt = monotonic + Self.settling
            return .jumped(jump)
        }
        return monotonic >= settledAt ? .steady : .settling
    }
}
