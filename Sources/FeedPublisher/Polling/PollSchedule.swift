internal import FeedLists
internal import FoundationEssentials

/// The times at which a feed is polled.
///
/// Source: feeds.md §10.
struct PollSchedule: Sendable {
    static let maximumBackOff: Duration = .seconds(86_400)
    /// Longest `Retry-After` that is followed: a server may name any time.
    static let maximumRetryAfter: Duration = .seconds(7 * 86_400)
    /// Pause after `429` and `503` without `Retry-After`.
    static let standardRetryAfter: Duration = .seconds(3_600)
    /// Longest freshness that is followed: a `max-age` of a year is a mistake for a feed.
    static let maximumFreshness: Duration = .seconds(86_400)
    /// Doublings after which every interval has reached ``maximumBackOff``.
    private static let maximumDoublings = 17

    /// The list's interval.
    let interval: Duration
    /// The pace that the feed asks for; empty if its publisher has agreed to the list's interval.
    let pace: FeedPace
    /// True if `Cache-Control` and `Expires` count.
    let heedsFreshness: Bool

    init(_ source: FeedSource, pace: FeedPace) {
        interval = (source.interval ?? .standard).duration
        self.pace = source.isByAgreement ? FeedPace() : pace
        heedsFreshness = !source.isByAgreement
    }

    /// Returns the next turn after a success.
    ///
    /// It is the latest of the list's interval, the feed's own, the reply's freshness and `Retry-After`, moved out of
    /// the hours in which the feed must not be polled.
    ///
    /// Intervals count from the start of the pass and are shortened by up to 10 % at random, never lengthened:
    /// otherwise a timer that fires at each interval would find the feed due only every second time. The times that
    /// the server asks for count from its reply, which may come much later. Freshness is shortened by a tenth at most,
    /// so that the timer finds the feed due.
    func afterSuccess(_ pause: RequestedPause, from start: Date, answered: Date? = nil, random: UInt64) -> DueTime {
        let late = Duration.seconds(max(0, answered?.timeIntervalSince(start) ?? 0))
        let shortened = max(interval, pace.interval ?? .zero) * (0.9 + 0.1 * random.fraction)
        let freshness = heedsFreshness ? min(pause.freshness ?? .zero, Self.maximumFreshness) : .zero
        let asked = pause.retryAfter.map { late + min($0, Self.maximumRetryAfter) } ?? .zero
        let stale = max(freshness, freshness > .zero ? late + freshness * 0.9 : .zero)
        return outsideSkipped(max(shortened, stale, asked), from: start, random)
    }

    /// Returns the next turn after consecutive failures: the interval, doubled for each failure after the first, up to
    /// a day, ±10 %, and not before `retryAfter`.
    func afterFailure(_ failures: Int, retryAfter: Duration?, from now: Date, random: UInt64) -> DueTime {
        let doublings = min(max(0, failures - 1), Self.maximumDoublings)
        let wait = min(interval * (1 << doublings), Self.maximumBackOff) * (0.9 + 0.2 * random.fraction)
        return outsideSkipped(max(wait, min(retryAfter ?? .zero, Self.maximumRetryAfter)), from: now, random)
    }

    /// Returns the time when a due feed may be polled; `nil` for now.
    func opening(after now: Date) -> Date? {
        let opening = pace.nextOpening(from: now)
        return opening > now ? opening : nil
    }

    /// Returns a time after the skipped hours; polls are spread over a tenth of an interval, so that they are not all
    /// made at once.
    private func outsideSkipped(_ wait: Duration, from start: Date, _ random: UInt64) -> DueTime {
        let due = start.addingTimeInterval(wait.inSeconds)
        let opening = pace.nextOpening(from: due)
        guard opening > due else { return DueTime(after: wait, from: start) }
        let spread = min(interval.inSeconds, 3_600) * 0.1 * random.fraction
        return DueTime(after: .seconds(opening.timeIntervalSince(start) + spread), from: start)
    }
}

extension UInt64 {
    /// The value as a fraction of its range: from 0 up to, but not including, 1.
    var fraction: Double { Double(self >> 11) / Double(1 << 53) }
}
