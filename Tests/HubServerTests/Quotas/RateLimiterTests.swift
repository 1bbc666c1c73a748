import FairShares
import Testing

@testable import HubServer

struct RateLimiterTests {
    private let clock = TestClock()

    private func limiter(burst: Int, perSecond: Double) -> RateLimiter<String> {
        RateLimiter(RateLimit(burst: burst, perSecond: perSecond), clock: { [clock] in clock.monotonic })
    }

    @Test func `a burst is admitted at once, then as many a second as the limit says`() {
        let limiter = limiter(burst: 3, perSecond: 2)
        for _ in 0..<3 { #expect(limiter.admit("a") == nil) }
        #expect(limiter.admit("a") == .milliseconds(500))
        clock.advance(by: 0.5)
        #expect(limiter.admit("a") == nil)
        #expect(limiter.admit("a") != nil)
        clock.advance(by: 1_000)
        for _ in 0..<3 { #expect(limiter.admit("a") == nil) }
        #expect(limiter.admit("a") != nil, "unused time adds nothing to the burst")
    }

    @Test func `one key's use leaves the others alone`() {
        let limiter = limiter(burst: 1, perSecond: 1)
        #expect(limiter.admit("a") == nil)
        #expect(limiter.admit("a") != nil)
        #expect(limiter.admit("b") == nil)
    }

    @Test func `refused callers that wait as asked are admitted one after the other`() {
        let limiter = limiter(burst: 10, perSecond: 10)
        var returns: [Duration] = []
        for _ in 0..<100 { if let wait = limiter.admit("proxy") { returns.append(wait) } }
        #expect(returns.count == 90)
        #expect(returns == returns.sorted() && Set(returns).count == 90, "each has a time of its own")
        #expect(returns.last == .seconds(9))
        var passed = Duration.zero
        for wait in returns {
            clock.advance(by: Double((wait - passed) / .milliseconds(1)) / 1000)
            passed = wait
            #expect(limiter.admit("proxy") == nil, "after \(wait)")
        }
    }

    @Test func `no caller has to wait longer than a minute, however many are refused`() {
        let limiter = limiter(burst: 1, perSecond: 1)
        for _ in 0..<1_000 {
            let wait = limiter.admit("a") ?? .zero
            #expect(wait <= .seconds(60))
        }
        clock.advance(by: 1)
        #expect(limiter.admit("a") == nil, "those that were refused have used nothing")
    }

    @Test func `the number of keys is bounded, and the busiest are remembered`() {
        let limiter = limiter(burst: 2, perSecond: 0.001)
        for _ in 0..<3 { _ = limiter.admit("busy") }
        for key in 0..<(3 * RateTable<String>.maximumKeys) {
            #expect(limiter.admit("\(key)") == nil)
            if key % 1_000 == 0 { #expect(limiter.count <= RateTable<String>.maximumKeys) }
        }
        #expect(limiter.admit("busy") != nil)
    }

    @Test func `keys that are within their burst again are forgotten first`() {
        let limiter = limiter(burst: 1, perSecond: 10)
        for key in 0..<RateTable<String>.maximumKeys { #expect(limiter.admit("\(key)") == nil) }
        clock.advance(by: 1)
        #expect(limiter.admit("new") == nil)
        #expect(limiter.count == 1)
    }

    @Test func `without a limit everything is admitted`() {
        let limiter = RateLimiter<String>(nil, clock: { .zero })
        for _ in 0..<100 { #expect(limiter.admit("a") == nil) }
        #expect(limiter.count == 0)
    }
}
