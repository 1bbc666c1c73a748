internal import Feeds
internal import FoundationEssentials

/// The polling pace that a feed's document asks for.
///
/// It is stored with the feed, because a reply without a document does not change it.
struct FeedPace: Sendable, Equatable {
    /// The longer of `ttl` and the interval of `sy:`, within ``bounds``.
    var interval: Duration?
    /// Hours of the day (GMT) in which the feed is not polled; never all of them.
    var skipHours: Set<Int> = []
    /// Days of the week (GMT, 0 is Sunday) on which the feed is not polled; never all of them.
    var skipDays: Set<Int> = []

    /// Limits of the interval: values of 0, 1 and absurd size are common (feeds.md §10).
    static let bounds: ClosedRange<Duration> = .seconds(300) ... .seconds(86_400)
    private static let longestMinutes = 1_000_000

    init() {}

    init(_ feed: Feed) {
        let asked = [feed.ttl, feed.hints.updateMinutes].compactMap(\.self).max()
        interval = asked.map { minutes in
            let interval = Duration.seconds(60 * max(0, min(minutes, Self.longestMinutes)))
            return max(Self.bounds.lowerBound, min(interval, Self.bounds.upperBound))
        }
        // A publisher that skips everything has misunderstood the element.
        if feed.hints.skipHours.count < 24 { skipHours = feed.hints.skipHours }
        if feed.hints.skipDays.count < 7 { skipDays = feed.hints.skipDays }
    }

    /// Returns the first moment from `date` on at which the feed may be polled; usually `date` itself.
    func nextOpening(from date: Date) -> Date {
        guard !skipHours.isEmpty || !skipDays.isEmpty else { return date }
        // Day 0, 1970-01-01, was a Thursday.
        let hour = Int((date.timeIntervalSince1970 / 3_600).rounded(.down))
        for next in hour...hour + 24 * 8 {
            let isOpen =
                !skipHours.contains(Self.remainder(next, 24))
                && !skipDays.contains(Self.remainder(Self.days(next) + 4, 7))
            if isOpen { return next == hour ? date : Date(timeIntervalSince1970: Double(next) * 3_600) }
        }
        return date
    }

    private static func days(_ hours: Int) -> Int { (hours - remainder(hours, 24)) / 24 }

    private static func remainder(_ number: Int, _ divisor: Int) -> Int {
        (number % divisor + divisor) % divisor
    }
}

/// Members of a small set as bits of a number, as they are stored.
extension Set<Int> {
    var bits: Int64 { reduce(0) { $0 | 1 << Int64($1) } }

    init(bits: Int64) { self = Set((0..<63).filter { bits & (1 << Int64($0)) != 0 }) }
}
