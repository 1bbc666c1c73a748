import HubProtocol
import Testing

@testable import PushServices

@Suite struct SendingPaceTests {
    private let start = ContinuousClock.now

    /// Takes all turns that there are in steps of ten milliseconds.
    private func take(_ pace: inout SendingPace, from: Double, to: Double) -> Int {
        var count = 0
        for step in Int(from * 100)..<Int(to * 100) {
            while pace.take(at: start + .milliseconds(step * 10)) { count += 1 }
        }
        return count
    }

    @Test func `the rate grows in a straight line over a minute, and then stays`() {
        var pace = SendingPace(perMinute: 60_000)
        // From 16.7 a second to 1,000 a second.
        let first = take(&pace, from: 0, to: 1)
        #expect((20...30).contains(first))
        let minute = first + take(&pace, from: 1, to: 60)
        #expect((30_300...30_600).contains(minute))
        let second = take(&pace, from: 60, to: 120)
        #expect((59_900...60_101).contains(second))
    }

    @Test func `what was not used is kept for a tenth of a second only`() {
        var pace = SendingPace(perMinute: 60_000)
        _ = take(&pace, from: 0, to: 61)
        var burst = 0
        while pace.take(at: start + .seconds(100)) { burst += 1 }
        #expect((100...102).contains(burst))
    }

    @Test func `a minute without a message begins the ramp anew`() {
        var pace = SendingPace(perMinute: 60_000)
        _ = take(&pace, from: 0, to: 61)
        let count = take(&pace, from: 121.5, to: 122.5)
        #expect((20...30).contains(count))
    }

    @Test func `a few messages never wait`() {
        var pace = SendingPace(perMinute: 500_000)
        let turns = (0..<1_000).map { pace.take(at: start + .milliseconds($0 * 100)) }
        #expect(turns.allSatisfy { $0 })
    }

    @Test func `who is too early learns how long it takes`() {
        var pace = SendingPace(perMinute: 60_000)
        while pace.take(at: start) {}
        let wait = pace.wait(at: start)
        #expect(wait > .milliseconds(50) && wait < .milliseconds(70))
        let isTaken = pace.take(at: start + wait)
        #expect(isTaken)
    }

    @Test func `a project has one pace`() {
        let paces = FcmPaces()
        #expect(paces.pace(of: "one") === paces.pace(of: "one"))
        #expect(paces.pace(of: "one") !== paces.pace(of: "two"))
    }

    @Test func `all who wait get their turn`() async {
        let pace = FcmPaces(perMinute: 600_000).pace(of: "p")
        let turns = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 { group.addTask { await pace.turn() } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(turns == 50 && pace.waiting == 0)
    }

    @Test func `who is cancelled waits no longer`() async {
        // The second turn comes after a minute.
        let pace = FcmPaces(perMinute: 60).pace(of: "p")
        #expect(await pace.turn())
        let task = Task.immediate { await pace.turn() }
        #expect(pace.waiting == 1)
        task.cancel()
        #expect(await task.value == false)
        #expect(pace.waiting == 0)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await pace.turn()
        }
        #expect(await late.value == false)
    }
}
