import Foundation
import Testing

@testable import FeedPublisher

@Suite struct PollScheduleTests {
    private let fiveMinutes = PollInterval(parsing: "5m")

    @Test(arguments: [("30s", 30), ("5m", 300), ("2h", 7_200), ("1d", 86_400)])
    func `an interval is digits and a unit`(text: String, seconds: Int64) throws {
        let interval = try #require(PollInterval(parsing: text))
        #expect(interval.seconds == seconds)
        #expect(interval.description == text)
    }

    @Test(arguments: ["", "5", "m", "5 m", "-5m", "5M", "1.5h", "5mm", "99999999d", "٥m"])
    func `anything else is no interval`(text: String) {
        #expect(PollInterval(parsing: text) == nil)
    }

    @Test func `jitter shortens a wait by up to a tenth and never lengthens it`() {
        let shortest = PollSchedule.waitAfterSuccess(
            interval: fiveMinutes,
            freshness: nil,
            ttlMinutes: nil,
            random: .min
        )
        let longest = PollSchedule.waitAfterSuccess(
            interval: fiveMinutes,
            freshness: nil,
            ttlMinutes: nil,
            random: .max
        )
        #expect(shortest == .seconds(270))
        #expect(longest > .seconds(299) && longest <= .seconds(300))
    }

    @Test func `the response's freshness counts, up to a day`() {
        func wait(_ seconds: Int64) -> Duration {
            PollSchedule.waitAfterSuccess(
                interval: fiveMinutes,
                freshness: .seconds(seconds),
                ttlMinutes: nil,
                random: .max
            )
        }
        #expect(wait(900) == .seconds(900))
        #expect(wait(31_536_000) == .seconds(86_400))
    }

    @Test func `the feed's ttl counts where the list names no interval, between bounds`() {
        func wait(_ interval: PollInterval?, _ ttl: Int) -> Double {
            PollSchedule.waitAfterSuccess(interval: interval, freshness: nil, ttlMinutes: ttl, random: .max).inSeconds
                .rounded()
        }
        #expect(wait(nil, 60) == 3_600)
        #expect(wait(nil, 0) == 900)
        #expect(wait(nil, .max) == 86_400)
        #expect(wait(fiveMinutes, 60) == 300)
    }

    @Test func `failures double the wait up to a day`() {
        let waits = [1, 2, 3, 12, 1_000].map { failures in
            PollSchedule.waitAfterFailure(
                interval: fiveMinutes,
                failures: failures,
                retryAfter: nil,
                random: .max / 2
            ).inSeconds.rounded()
        }
        #expect(waits == [300, 600, 1_200, 86_400, 86_400])
    }

    @Test func `what the server asks for is kept, up to a week`() {
        func wait(_ seconds: Int64) -> Duration {
            PollSchedule.waitAfterFailure(
                interval: fiveMinutes,
                failures: 1,
                retryAfter: .seconds(seconds),
                random: 0
            )
        }
        #expect(wait(7_200) == .seconds(7_200))
        #expect(wait(10_000_000) == .seconds(7 * 86_400))
        #expect(wait(0) == .seconds(270))
    }

    @Test(
        arguments: [
            ("max-age=60", 60), ("public, MAX-AGE=60", 60), ("no-cache", nil), ("max-age=", nil), ("s-maxage=5", nil),
        ] as [(String, Int64?)]
    )
    func `freshness is max-age`(field: String, seconds: Int64?) {
        #expect(CacheControl.maxAge(field) == seconds.map { .seconds($0) })
    }

    @Test(arguments: [
        (-1.0, false), (0.0, true), (315_360_000.0, true), (-86_400.0, true), (-315_360_000.0, true),
    ])
    func `a due time comes when it comes, and when the clock was set back`(offset: Double, hasCome: Bool) {
        let due = DueTime(after: .seconds(300), from: Date(timeIntervalSince1970: 1_780_000_000))
        #expect(due.hasCome(at: due.at.addingTimeInterval(offset)) == hasCome)
    }
}
