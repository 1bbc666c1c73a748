/// When a feed is asked for again.
///
/// Source: feeds.md §10.
package enum PollSchedule {
    static let maximumBackOff: Duration = .seconds(86_400)
    /// A server may name any wait; a week is the longest we keep.
    static let maximumRetryAfter: Duration = .seconds(7 * 86_400)
    /// What `429` and `503` without `Retry-After` cost.
    static let standardRetryAfter: Duration = .seconds(3_600)
    /// `max-age` of a year is a mistake for a feed.
    static let maximumFreshness: Duration = .seconds(86_400)
    /// Bounds of the feed's own `ttl`: 0, 1 and absurd values are common.
    static let timeToLive: ClosedRange<Duration> = .seconds(300) ... .seconds(86_400)
    /// Doublings after which every interval has reached ``maximumBackOff``.
    private static let maximumDoublings = 17

    /// The wait after a success: the largest of the interval, the response's freshness and, where the list names no
    /// interval of its own, the `ttl` that the feed asks for.
    ///
    /// Shortened by up to 10 % at random, never lengthened: a timer that fires at each interval would find the feed due
    /// only every second time.
    static func waitAfterSuccess(
        interval: PollInterval?,
        freshness: Duration?,
        ttlMinutes: Int?,
        random: UInt64
    ) -> Duration {
        var wait = (interval ?? .standard).duration
        if interval == nil, let ttlMinutes {
            let asked = Duration.seconds(60 * Int64(max(0, min(ttlMinutes, 1_000_000))))
            wait = max(wait, min(max(asked, timeToLive.lowerBound), timeToLive.upperBound))
        }
        let shortened = wait * (0.9 + 0.1 * fraction(random))
        return max(shortened, min(freshness ?? .zero, maximumFreshness))
    }

    /// The wait after the given number of failures in a row: the interval doubled for each after the first, up to a
    /// day, ±10 %, and not below what the server asked for.
    static func waitAfterFailure(
        interval: PollInterval?,
        failures: Int,
        retryAfter: Duration?,
        random: UInt64
    ) -> Duration {
        let doublings = min(max(0, failures - 1), maximumDoublings)
        let doubled = (interval ?? .standard).duration * (1 << doublings)
        let wait = min(doubled, maximumBackOff) * (0.9 + 0.2 * fraction(random))
        return max(wait, min(retryAfter ?? .zero, maximumRetryAfter))
    }

    private static func fraction(_ random: UInt64) -> Double { Double(random >> 11) / Double(1 << 53) }
}
