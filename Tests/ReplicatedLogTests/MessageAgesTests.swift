import Testing

@testable import ReplicatedLog

struct MessageAgesTests {
    @Test(arguments: [Duration.zero, .seconds(7_200), .seconds(-7_200)])
    func `a message that waited is late, whatever the clocks say`(offset: Duration) {
        var ages = MessageAges()
        func isLate(_ sent: Duration, _ now: Duration) -> Bool {
            ages.isLate(from: 1, sent: sent + offset, at: now)
        }
        #expect(!isLate(.seconds(10), .seconds(11)), "nothing is known of the clock yet")
        #expect(!isLate(.seconds(12), .milliseconds(12_010)))
        #expect(!isLate(.seconds(13), .seconds(15)))
        #expect(isLate(.seconds(13), .milliseconds(15_030)))
        #expect(!isLate(.seconds(15), .milliseconds(15_030)))
        // A pause, after which all that has waited comes at once.
        for second in 16..<110 { #expect(isLate(.seconds(second), .seconds(115))) }
        #expect(!isLate(.milliseconds(114_900), .seconds(115)))
    }

    @Test func `processes have clocks of their own`() {
        var ages = MessageAges()
        func isLate(_ process: UInt64, _ sent: Duration, _ now: Duration) -> Bool {
            ages.isLate(from: process, sent: sent, at: now)
        }
        for process in 0..<1_000 {
            #expect(!isLate(UInt64(process), .seconds(1_000 * process), .seconds(process)))
        }
        #expect(isLate(999, .seconds(998_000), .seconds(1_000)))
        #expect(!isLate(0, .seconds(-10), .seconds(1_000)), "it was forgotten")
    }

    @Test func `a clock that has stood still, or goes slowly, is trusted again`() {
        var ages = MessageAges()
        func isLate(_ sent: Duration, _ now: Duration) -> Bool { ages.isLate(from: 1, sent: sent, at: now) }
        #expect(!isLate(.zero, .zero))
        // A virtual machine was paused for 100 seconds.
        for second in 100..<110 { #expect(isLate(.seconds(second - 100), .seconds(second))) }
        #expect(!isLate(.seconds(10), .seconds(110)))
        #expect(!isLate(.seconds(11), .seconds(111)))
        // 4 seconds a day.
        for minute in 0..<10_000 {
            let now = Duration.seconds(111 + 60 * minute)
            #expect(!isLate((now - .seconds(100)) * 0.99995, now))
        }
    }
}
