import Foundation
import HubProtocol
import Testing

@testable import Alarms

/// What the judge makes of restarts, of publishers that something else starts, and of an operator who is told later.
struct AlarmWatchTests {
    private static let publisher = Alarm(.silentPublisher, "p")
    private static let feed = Alarm(.failingFeed, Room.feed)

    /// A publisher that a timer starts each `interval` minutes.
    private static func pass(_ minutes: Int, reporting interval: Int?, _ room: inout Room) -> [AlarmChange] {
        var changes: [AlarmChange] = []
        room.isReporting = false
        room.facts.startedPublishers = ["p"]
        for minute in 0..<minutes {
            if let interval, minute % interval == 0 { room.facts.publishers["p"] = room.now }
            changes += room.pass(1)
        }
        return changes
    }

    @Test func `a publisher that was tried by hand is not missed`() {
        var room = Room()
        let changes = Self.pass(60, reporting: 20, &room) + Self.pass(3 * 1_440, reporting: nil, &room)
        #expect(changes == [])
    }

    @Test func `a publisher that a timer starts is missed after twice its longest pause`() {
        var room = Room()
        let usual = Self.pass(1_560, reporting: 60, &room)
        #expect(usual == [])
        let early = Self.pass(60, reporting: nil, &room)
        #expect(early == [])
        let late = Self.pass(62, reporting: nil, &room)
        #expect(late == [.raised(Self.publisher)])
        let end = Self.pass(1, reporting: 1, &room)
        #expect(end == [.cleared(Self.publisher)])
    }

    @Test func `nothing ends while a start settles, and lasting alarms are not reported again`() {
        var room = Room()
        _ = room.pass(20)
        room.facts.credentials = ["apns": room.now]
        let reported = room.pass(1)
        #expect(reported == [.raised(Alarm(.expiringCredential, "apns"))])
        room.restart(after: 10)
        // The push service is not set up yet.
        let credentials = room.facts.credentials
        room.facts.credentials = [:]
        let settling = room.pass(10)
        #expect(settling == [])
        room.facts.credentials = credentials
        let later = room.pass(30)
        #expect(later == [])
    }

    @Test func `beginnings and ends that cannot be reported now are reported later`() {
        var room = Room()
        _ = room.pass(20)
        room.facts.agents = ["lobby": false]
        _ = room.pass(59)
        func judge(mayTell: Bool) -> [AlarmChange] {
            room.now.milliseconds += Room.minute
            return room.judge.judge(room.facts, room.rules, now: room.now, mayTell: mayTell)
        }
        let alarm = Alarm(.absentAgent, "lobby")
        for _ in 1...5 {
            let held = judge(mayTell: false)
            #expect(held == [])
        }
        let raised = judge(mayTell: true)
        #expect(raised == [.raised(alarm)])
        room.facts.agents = ["lobby": true]
        let held = judge(mayTell: false)
        #expect(held == [] && room.judge.alarms == [alarm])
        let cleared = judge(mayTell: true)
        #expect(cleared == [.cleared(alarm)])
    }

    @Test func `a silence of a category in a restored copy begins anew`() {
        var room = Room()
        room.rules.silences = ["World": .seconds(3_600)]
        room.message("World")
        _ = room.pass(1)
        room.message("World")
        room.isBusy = false
        _ = room.pass(55)
        room.judge.begin(isRestored: true)
        let changes = room.pass(59)
        #expect(changes == [])
        let late = room.pass(5)
        #expect(late == [.raised(Alarm(.silentCategory, "World"))])
    }

    @Test func `entries show what lasts, since when, and what is silenced`() throws {
        var room = Room()
        _ = room.pass(20)
        let began = room.now
        room.facts.agents = ["a": false, "b": false]
        _ = room.pass(70)
        let (a, b) = (Alarm(.absentAgent, "a"), Alarm(.absentAgent, "b"))
        let end = room.now + .seconds(3_600)
        room.judge.silence(b, until: end)
        let entries = room.judge.entries(at: room.now)
        #expect(entries.map(\.alarm) == [a, b] && entries.map(\.isSilenced) == [false, true])
        #expect(entries.map(\.finding?.since) == [began, began] && entries.map(\.silencedUntil) == [nil, end])
        room.facts.agents = ["a": true, "b": true]
        _ = room.pass(1)
        let left = room.judge.entries(at: room.now)
        #expect(left.map(\.alarm) == [b] && left.map(\.finding) == [nil])
        let restored = try JSONDecoder().decode(AlarmJudge.self, from: JSONEncoder().encode(room.judge))
        #expect(restored == room.judge)
        #expect(room.judge.entries(at: end).isEmpty)
    }
}
