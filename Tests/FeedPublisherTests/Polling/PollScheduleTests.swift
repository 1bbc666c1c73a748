import Feeds
import Foundation
import OutboundHTTP
import Testing

@testable import FeedLists
@testable import FeedPublisher

@Suite struct PollScheduleTests {
    @Test(arguments: [("30s", 30), ("5m", 300), ("2h", 7_200), ("1d", 86_400)])
    func `an interval is digits and a unit`(text: String, seconds: Int64) throws {
        let interval = try #require(PollInterval(parsing: text))
        #expect(interval.seconds == seconds)
        #expect(interval.description == text)
    }

    @Test(arguments: ["", "5", "m", "5 m", "-5m", "5M", "1.5h", "5mm", "99999999d", "٥m"])
    func `anything else is refused as an interval`(text: String) {
        #expect(PollInterval(parsing: text) == nil)
    }

    private let start = Date(timeIntervalSince1970: 1_780_000_000)

    private func schedule(_ every: String? = "5m", _ pace: FeedPace = FeedPace(), byAgreement: Bool = false) throws
        -> PollSchedule
    {
        var source = FeedSource(
            address: try FeedAddress(parsing: "https://news.example/", allowsFile: false),
            interval: every.flatMap { PollInterval(parsing: $0) },
            isLocal: false,
            title: nil,
            line: nil
        )
        source.isByAgreement = byAgreement
        return PollSchedule(source, pace: pace)
    }

    private func pace(ttl: Int? = nil, _ hints: PollingHints = PollingHints()) -> FeedPace {
        var feed = Feed(format: FeedFormat(.rss, version: "2.0"))
        feed.ttl = ttl
        feed.hints = hints
        return FeedPace(feed)
    }

    @Test func `jitter shortens a wait by up to a tenth and never lengthens it`() throws {
        let shortest = try schedule().afterSuccess(RequestedPause(), from: start, random: .min).wait
        let longest = try schedule().afterSuccess(RequestedPause(), from: start, random: .max).wait
        #expect(shortest == .seconds(270))
        #expect(longest > .seconds(299) && longest <= .seconds(300))
    }

    @Test func `the answer's freshness counts, up to a day, and its Retry-After, up to a week`() throws {
        func wait(_ pause: RequestedPause, byAgreement: Bool = false) throws -> Duration {
            try schedule(byAgreement: byAgreement).afterSuccess(pause, from: start, random: .min).wait
        }
        #expect(try wait(RequestedPause(freshness: .seconds(900))) == .seconds(900))
        #expect(try wait(RequestedPause(freshness: .seconds(31_536_000))) == .seconds(86_400))
        #expect(try wait(RequestedPause(retryAfter: .seconds(7_200))) == .seconds(7_200))
        #expect(try wait(RequestedPause(retryAfter: .seconds(31_536_000))) == .seconds(7 * 86_400))
        let both = RequestedPause(freshness: .seconds(900), retryAfter: .seconds(600))
        #expect(try wait(both, byAgreement: true) == .seconds(600))
    }

    @Test(arguments: [
        (RequestedPause(freshness: .seconds(900)), 1_200, 2_010.0), (RequestedPause(freshness: .seconds(900)), 2, 900),
        (RequestedPause(retryAfter: .seconds(900)), 1_200, 2_100), (RequestedPause(retryAfter: .seconds(900)), 2, 902),
        (RequestedPause(), 1_200, 270), (RequestedPause(freshness: .zero), 1_200, 270),
    ])
    func `the server's pause counts from its answer, the list's interval from the pass`(
        pause: RequestedPause,
        late: Double,
        seconds: Double
    ) throws {
        let due = try schedule().afterSuccess(pause, from: start, answered: start + late, random: .min)
        #expect(due.wait.inSeconds.rounded() == seconds)
        #expect(abs(due.at.timeIntervalSince(start) - seconds) < 1)
    }

    @Test(
        arguments: [
            (nil, 60, nil, 3_600), (nil, 0, nil, 900), (nil, .max, nil, 86_400), ("5m", 60, nil, 3_600),
            ("5m", 1, nil, 300), ("2h", 60, nil, 7_200), ("5m", nil, 60, 3_600), ("5m", 30, 60, 3_600),
            ("5m", nil, 525_600, 86_400), ("5m", -1, nil, 300),
        ] as [(String?, Int?, Int?, Double)]
    )
    func `what the feed asks for counts where it is longer, between bounds`(
        every: String?,
        ttl: Int?,
        minutes: Int?,
        seconds: Double
    ) throws {
        let pace = pace(ttl: ttl, PollingHints(updateMinutes: minutes))
        let wait = try schedule(every, pace).afterSuccess(RequestedPause(), from: start, random: .max).wait
        #expect(wait.inSeconds.rounded() == seconds)
    }

    @Test func `where the publisher agreed, the list's interval counts alone`() throws {
        let pace = pace(ttl: 60, PollingHints(updateMinutes: 60, skipHours: Set(0..<23), skipDays: [0, 6]))
        let schedule = try schedule("5m", pace, byAgreement: true)
        #expect(schedule.afterSuccess(RequestedPause(), from: start, random: .max).wait.inSeconds.rounded() == 300)
        #expect(schedule.opening(after: start) == nil)
    }

    /// The clock of these tests begins on Thursday 28 May 2026 at 20:26:40 GMT.
    @Test(
        arguments: [
            ([], [], "2026-05-28T20:26:40Z"), ([20], [], "2026-05-28T21:00:00Z"),
            ([20, 21, 22, 23, 0, 1], [], "2026-05-29T02:00:00Z"), ([], [4], "2026-05-29T00:00:00Z"),
            ([], [4, 5, 6, 0], "2026-06-01T00:00:00Z"), ([0], [4], "2026-05-29T01:00:00Z"),
            ([19, 21], [3, 5], "2026-05-28T20:26:40Z"),
            (Array(0...23), [], "2026-05-28T20:26:40Z"), ([], Array(0...6), "2026-05-28T20:26:40Z"),
        ] as [([Int], [Int], String)]
    )
    func `skipped hours and days are left out`(hours: [Int], days: [Int], expected: String) throws {
        let pace = pace(PollingHints(skipHours: Set(hours), skipDays: Set(days)))
        #expect(pace.nextOpening(from: start).formatted(.iso8601) == expected)
    }

    @Test func `a turn that falls into skipped hours comes soon after them, also after a failure`() throws {
        let schedule = try schedule("5m", pace(PollingHints(skipHours: [20, 21])))
        let end = Date(timeIntervalSince1970: 1_780_005_600)
        for random in [UInt64.min, .max] {
            for due in [
                schedule.afterSuccess(RequestedPause(), from: start, random: random),
                schedule.afterFailure(1, retryAfter: nil, from: start, random: random),
            ] {
                #expect(due.at >= end && due.at <= end + 30)
                #expect(abs(due.at.timeIntervalSince(start) - due.wait.inSeconds) < 0.001)
            }
        }
        #expect(schedule.opening(after: start) == end)
        #expect(schedule.opening(after: end) == nil)
    }

    @Test func `failures double the wait up to a day`() throws {
        let schedule = try schedule()
        let waits = [1, 2, 3, 12, 1_000].map { failures in
            schedule.afterFailure(failures, retryAfter: nil, from: start, random: .max / 2).wait.inSeconds.rounded()
        }
        #expect(waits == [300, 600, 1_200, 86_400, 86_400])
    }

    @Test func `failures are spread by a tenth to both sides`() throws {
        let schedule = try schedule()
        let waits = [UInt64.min, .max].map {
            schedule.afterFailure(1, retryAfter: nil, from: start, random: $0).wait.inSeconds.rounded()
        }
        #expect(waits == [270, 330])
    }

    @Test func `what the server asks for is kept, up to a week`() throws {
        let schedule = try schedule()
        func wait(_ seconds: Int64) -> Duration {
            schedule.afterFailure(1, retryAfter: .seconds(seconds), from: start, random: 0).wait
        }
        #expect(wait(7_200) == .seconds(7_200))
        #expect(wait(10_000_000) == .seconds(7 * 86_400))
        #expect(wait(0) == .seconds(270))
    }

    @Test(
        arguments: [
            ([("Cache-Control", "max-age=60")], 60), ([("Cache-Control", "public, MAX-AGE=\"60\"")], 60),
            ([("Cache-Control", "public"), ("Cache-Control", "max-age=60")], 60),
            ([("Cache-Control", "no-cache")], nil), ([("Cache-Control", "max-age=")], nil),
            ([("Cache-Control", "s-maxage=5")], nil), ([("Cache-Control", "max-age=60"), ("Age", "20")], 40),
            ([("Cache-Control", "max-age=60"), ("Age", "90")], 0),
            ([("Cache-Control", "max-age=99999999999999999999")], 31_536_000),
            ([("Expires", "Thu, 28 May 2026 20:36:40 GMT")], 600),
            ([("Expires", "Thu, 28 May 2026 20:36:40 GMT"), ("Date", "Thu, 28 May 2026 20:35:40 GMT")], 60),
            ([("Expires", "Thu, 28 May 2026 20:36:40 GMT"), ("Cache-Control", "max-age=5")], 5),
            ([("Expires", "Thu, 28 May 2026 20:36:40 GMT"), ("Cache-Control", "no-cache")], nil),
            ([("Expires", "Thu, 28 May 2015 20:36:40 GMT")], 0), ([("Expires", "0")], nil), ([], nil),
        ] as [([(String, String)], Int64?)]
    )
    func `freshness is max-age, else Expires, less the age`(fields: [(String, String)], seconds: Int64?) {
        let headers = OutboundHeaders(fields.map { (name: $0.0, value: $0.1) })
        #expect(RequestedPause(headers, now: start).freshness == seconds.map { .seconds($0) })
    }

    @Test(arguments: [
        (-1.0, false), (0.0, true), (315_360_000.0, true), (-86_400.0, true), (-315_360_000.0, true),
    ])
    func `a due time comes when it comes, and when the clock was set back`(offset: Double, hasCome: Bool) {
        let due = DueTime(after: .seconds(300), from: Date(timeIntervalSince1970: 1_780_000_000))
        #expect(due.hasCome(at: due.at.addingTimeInterval(offset)) == hasCome)
    }
}
