import Synchronization
import Testing

@testable import WebEdge

@Suite struct MinuteLimiterTests {
    @Test func `a limiter counts within any minute, and forgets what has expired`() {
        let clock = TestClock()
        let limiter = MinuteLimiter<Int>(3, clock: { clock.monotonic })
        #expect(limiter.admit(1) == nil)
        clock.advance(by: .seconds(20))
        for _ in 0..<2 { #expect(limiter.admit(1) == nil) }
        #expect(limiter.admit(1) == .seconds(40), "until the first is a minute old")
        #expect(limiter.admit(2) == nil)
        clock.advance(by: .seconds(40))
        #expect(limiter.admit(1) == nil)
        #expect(limiter.admit(1) == .seconds(20))
        clock.advance(by: .seconds(60))
        for _ in 0..<3 { #expect(limiter.admit(1) == nil) }
    }

    @Test func `a limiter's memory is bounded, and those who use it now are not forgotten first`() {
        let clock = TestClock()
        let limiter = MinuteLimiter<Int>(1, clock: { clock.monotonic })
        let most = MinuteLimiter<Int>.maximumKeys
        for key in 0..<most {
            clock.advance(by: .milliseconds(1))
            #expect(limiter.admit(key) == nil)
        }
        #expect(limiter.admit(-1) == nil && limiter.count <= most)
        #expect(limiter.admit(most - 1) != nil && limiter.admit(0) == nil)
        clock.advance(by: .seconds(61))
        for key in 0..<(3 * most) { _ = limiter.admit(-key) }
        #expect(limiter.count <= most)
    }
}

private final class TestClock: Sendable {
    private let passed = Mutex(Duration.zero)

    var monotonic: Duration { passed.withLock { $0 } }

    func advance(by time: Duration) { passed.withLock { $0 += time } }
}
