import Foundation
import HubProtocol
import HubRouting
import HubStore
import StreamProbe
import Synchronization
import Testing

import class HubTestServer.LogLines

@testable import HubServer

struct ClockTests {
    @Test(arguments: [86_400.0, -86_400, 10 * 365.25 * 86_400, -10 * 365.25 * 86_400])
    func `a clock that jumps under load loses nothing, neither at once nor when it has settled`(jump: Double)
        async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let time = TestTime()
            let live = try hub.probe(agent)
            var titles: [String] = []
            func send(_ count: Int, jumping step: Double = 0) async throws {
                let first = titles.count
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<count {
                        if number == count / 2 { hub.clock.advance(by: step) }
                        group.addTask { try await hub.accept("m\(first + number)") }
                    }
                    try await group.waitForAll()
                }
                titles += (0..<count).map { "m\(first + $0)" }
            }
            // Two days of news, the jump, an hour and more of it, the jump back, and an hour and more again.
            for _ in 0..<2 {
                try await send(10)
                try await hub.pass(86_400, of: time)
            }
            for step in [jump, -jump] {
                try await send(50, jumping: step)
                try await hub.pass(60, of: time)
                for _ in 0..<5 {
                    try await send(5)
                    try await hub.pass(1_000, of: time)
                }
            }
            // Another live stream would end this one, so it comes last.
            try await hub.settle([live])
            #expect(Set(live.probe.titles) == Set(titles) && live.probe.titles.count == titles.count)
            let late = try hub.probe(agent)
            try await hub.settle([late])
            #expect(late.probe.titles == live.probe.titles, "all of it is owed still")
            #expect(late.probe.names == [])
            // And expires in the end.
            try await hub.pass(71 * 3600, of: time)
            try await hub.pass(3600, of: time)
            try await hub.pass(3 * 86_400, of: time)
            #expect(hub.hub.status.droppedThrough == hub.head)
        }
    }

    @Test func `tokens are judged by the wall clock as it is`() async throws {
        try await TestHub.run(try Scratch()) { hub async throws in
            let headers = ["Authorization": hub.token(hub.full)]
            func status() async throws -> Int {
                try await hub.send("POST", "messages", as: nil, headers: headers, "{}").status
            }
            #expect(try await status() == 201)
            hub.clock.advance(by: 86_400)
            #expect(try await status() == 401)
            hub.clock.advance(by: -2 * 86_400)
            #expect(try await status() == 201, "a token says when it ends, not when it began")
            hub.clock.advance(by: 10 * 365 * 86_400)
            #expect(try await hub.post().status == 201, "new ones are good at any time")
        }
    }

    @Test func `a hub that starts with a clock far away drops nothing before it has settled`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let agent = Agent("a")
        try await TestHub.run(scratch, clock: clock) { hub in
            try await hub.register(agent)
            try await hub.accept("x")
            try await hub.pass(1, of: TestTime())
        }
        clock.advance(by: 30 * 86_400)
        try await TestHub.run(scratch, clock: clock) { hub in
            let time = TestTime()
            try await hub.pass(60, of: time)
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["x"])
            try await hub.pass(3_700, of: time)
            #expect(hub.hub.status.droppedThrough == hub.head)
        }
    }

    @Test func `another start before the clock has settled drops nothing either`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let agent = Agent("a")
        let id = try await TestHub.run(scratch, clock: clock) { hub in
            try await hub.register(agent)
            let id = try await hub.accept("x", key: "k")
            try await hub.pass(1, of: TestTime())
            return id
        }
        clock.advance(by: 30 * 86_400)
        for start in 1...3 {
            try await TestHub.run(scratch, clock: clock) { hub in
                try await hub.pass(60, of: TestTime())
                let stream = try hub.probe(agent)
                try await hub.settle([stream])
                #expect(stream.probe.titles == ["x"], "start \(start)")
                #expect(try await hub.accept("x", key: "k") == id, "start \(start)")
            }
        }
    }

    @Test func `a clock that is behind at the start is named in the log, once, with how far`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        _ = try await TestHub.run(scratch, clock: clock) { hub in try await hub.accept("before") }
        for (jump, isNamed) in [(-3_600.0, true), (7_200, false)] {
            clock.jump(by: jump)
            let lines = LogLines()
            try await TestHub.run(scratch, clock: clock, logger: lines.logger) { hub in
                try await hub.pass(60, of: TestTime())
            }
            let named = lines.all.filter { $0.contains("the clock is behind") }
            #expect(named.count == (isNamed ? 1 : 0), "\(lines.all)")
            guard isNamed else { continue }
            #expect(named[0].hasPrefix("warning ") && named[0].contains("clock.behind.seconds=36"), "\(named)")
            #expect(named[0].contains("clock.now=2030-03-17T16:4"), "\(named)")
        }
    }

    @Test func `a first start notes the clock, so that a second one can tell`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        try await TestHub.run(scratch, clock: clock) { _ in }
        let noted = try await HubStore(path: scratch.path).lastSeenClock()
        #expect(noted == Timestamp(clock.now))
    }

    @Test func `the guard tells a jump once and settles after an hour of the other clock`() {
        func wall(_ minutes: Int64, seconds: Int64 = 0) -> Timestamp {
            Timestamp(milliseconds: (minutes * 60 + seconds) * 1_000)
        }
        func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
        var clock = ClockGuard(wall: 0, monotonic: .zero, lastSeen: nil, longestAbsence: minutes(100))
        #expect(clock.look(wall: wall(1), monotonic: minutes(1)) == .steady)
        #expect(clock.look(wall: wall(100), monotonic: minutes(2)) == .jumped(minutes(98)))
        #expect(clock.look(wall: wall(101), monotonic: minutes(3)) == .settling)
        #expect(clock.look(wall: wall(159), monotonic: minutes(61)) == .settling)
        #expect(clock.look(wall: wall(160), monotonic: minutes(62)) == .steady)
        #expect(clock.look(wall: wall(161, seconds: 30), monotonic: minutes(63)) == .steady, "a little is no jump")
        #expect(clock.look(wall: 0, monotonic: minutes(64)) == .jumped(minutes(-162) - .seconds(30)))
    }

    @Test(arguments: [(0, true), (50, true), (101, false), (-1, true), (-2, false)] as [(Int64, Bool)])
    func `a start is trusted within the longest absence`(minutesAway: Int64, isTrusted: Bool) {
        let lastSeen: Timestamp = 60_000_000
        let wall = lastSeen + .seconds(60 * minutesAway)
        var clock = ClockGuard(wall: wall, monotonic: .zero, lastSeen: lastSeen, longestAbsence: .seconds(6_000))
        #expect(clock.look(wall: wall, monotonic: .zero) == (isTrusted ? .steady : .settling))
    }
}
