import Foundation
import HubProtocol
import Testing

@testable import Alarms

/// A judge that looks each minute, and its clock.
struct Room {
    static let minute = 60_000 as Int64
    static let feed = "https://a.example/"

    var judge = AlarmJudge()
    var facts = AlarmFacts()
    var rules = AlarmRules()
    var now = Timestamp(milliseconds: 1_900_000_000_000)
    var isClockSteady = true
    /// The publisher reports every ten minutes.
    var isReporting = true
    /// A message comes every ten minutes.
    var isBusy = true

    /// Lets minutes pass.
    ///
    /// - Returns: What was told meanwhile.
    mutating func pass(_ minutes: Int) -> [AlarmChange] {
        var changes: [AlarmChange] = []
        for _ in 0..<minutes {
            now.milliseconds += Self.minute
            if now.milliseconds / Self.minute % 10 == 0 {
                if isReporting { facts.publishers["p"] = now }
                if isBusy, facts.categories["World"] != nil { message("World") }
            }
            changes += judge.judge(facts, rules, now: now, isClockSteady: isClockSteady)
        }
        return changes
    }

    mutating func message(_ category: String) {
        let last = facts.categories[category] ?? nil
        facts.categories[category] = LogSequence(rawValue: (last?.rawValue ?? 0) + 1)
    }

    mutating func setFeed(failingSince: Timestamp?) {
        facts.feeds = [AlarmFacts.Feed(publisher: "p", url: Self.feed, failingSince: failingSince)]
    }

    /// A hub stops for so many minutes and starts again.
    mutating func restart(after minutes: Int) {
        now.milliseconds += Int64(minutes) * Self.minute
        judge.begin()
    }
}

/// Something that is wrong, how it begins and how it ends.
struct AlarmCase: CustomTestStringConvertible, Sendable {
    let alarm: Alarm
    /// Minutes after which it is an alarm.
    let minutes: Int
    let begin: @Sendable (inout Room) -> Void
    let end: @Sendable (inout Room) -> Void
    var testDescription: String { alarm.kind.rawValue }

    static let all = [
        AlarmCase(alarm: Alarm(.silentCategory, "World"), minutes: 60, begin: { _ in }, end: { $0.message("World") }),
        AlarmCase(
            alarm: Alarm(.silentPublisher, "p"),
            minutes: 30,
            begin: {
                $0.facts.publishers["p"] = $0.now
                $0.isReporting = false
            },
            end: { $0.isReporting = true }
        ),
        AlarmCase(alarm: Alarm(.absentAgent, "lobby"), minutes: 60, begin: { $0.facts.agents["lobby"] = false }) {
            $0.facts.agents["lobby"] = true
        },
        AlarmCase(alarm: Alarm(.failingFeed, Room.feed), minutes: 1_440, begin: { $0.setFeed(failingSince: $0.now) }) {
            $0.setFeed(failingSince: nil)
        },
        AlarmCase(
            alarm: Alarm(.expiringCredential, "apns"),
            minutes: 0,
            begin: { $0.facts.credentials["apns"] = $0.now + .seconds(13 * 86_400) },
            end: { $0.facts.credentials["apns"] = $0.now + .seconds(90 * 86_400) }
        ),
        AlarmCase(
            alarm: Alarm(.refusedCredential, "apns"),
            minutes: 0,
            begin: { $0.facts.refusedCredentials = ["apns": "InvalidProviderToken"] },
            end: { $0.facts.refusedCredentials = [:] }
        ),
        AlarmCase(
            alarm: Alarm(.expiringCertificate, "hub.example"),
            minutes: 0,
            begin: { $0.facts.certificates["hub.example"] = $0.now + .seconds(13 * 86_400) },
            end: { $0.facts.certificates["hub.example"] = $0.now + .seconds(90 * 86_400) }
        ),
        AlarmCase(alarm: Alarm(.droppedMessages), minutes: 0, begin: { $0.facts.dropped += 7 }, end: { _ in }),
        AlarmCase(alarm: Alarm(.missingReplicas), minutes: 10, begin: { $0.facts.missingReplicas = 1 }) {
            $0.facts.missingReplicas = 0
        },
        AlarmCase(
            alarm: Alarm(.unfitHub, "b"),
            minutes: 2,
            begin: { $0.facts.unfitHubs = ["b": "its clock is 12 s behind the other hubs"] },
            end: { $0.facts.unfitHubs = [:] }
        ),
    ]
}

struct AlarmJudgeTests {
    /// A room in which each kind of alarm can come about, and nothing is wrong.
    private static func settled() -> Room {
        var room = Room()
        room.facts.agents = ["lobby": true]
        room.facts.credentials = ["apns": room.now + .seconds(100 * 86_400)]
        room.facts.certificates = ["hub.example": room.now + .seconds(100 * 86_400)]
        room.setFeed(failingSince: nil)
        room.message("World")
        _ = room.pass(60)
        room.rules.silences = ["World": .seconds(3_600)]
        room.message("World")
        _ = room.pass(1)
        return room
    }

    @Test func `each kind of alarm has a case`() {
        #expect(Set(AlarmCase.all.map(\.alarm.kind)) == Set(Alarm.Kind.allCases))
    }

    @Test(arguments: AlarmCase.all)
    func `an alarm is raised once and cleared once`(alarmCase: AlarmCase) {
        var room = Self.settled()
        room.isBusy = alarmCase.alarm.kind != .silentCategory
        alarmCase.begin(&room)
        let early = room.pass(max(alarmCase.minutes - 2, 0))
        #expect(early == [])
        let late = room.pass(30)
        #expect(late == [.raised(alarmCase.alarm)])
        #expect(room.judge.alarms == [alarmCase.alarm])
        alarmCase.end(&room)
        let end = room.pass(alarmCase.alarm.kind == .droppedMessages ? 60 : 20)
        #expect(end == [.cleared(alarmCase.alarm)])
        #expect(room.judge.alarms.isEmpty)
        room.isBusy = true
        let rest = room.pass(200)
        #expect(rest == [])
    }

    @Test(arguments: AlarmCase.all)
    func `an alarm that was raised is not raised again by a restart`(alarmCase: AlarmCase) throws {
        var room = Self.settled()
        room.isBusy = alarmCase.alarm.kind != .silentCategory
        alarmCase.begin(&room)
        _ = room.pass(alarmCase.minutes + 30)
        room.judge = try JSONDecoder().decode(AlarmJudge.self, from: JSONEncoder().encode(room.judge))
        room.restart(after: 300)
        let changes = room.pass(100)
        // That messages were dropped is over with the start.
        #expect(changes == (alarmCase.alarm.kind == .droppedMessages ? [.cleared(alarmCase.alarm)] : []))
    }

    /// Hubs store the judge: with another name, an upgrade would lose a part of its state.
    @Test func `the stored state keeps its names`() throws {
        var room = Self.settled()
        room.isBusy = true
        room.facts.missingReplicas = 1
        let raised = room.pass(30)
        #expect(raised == [.raised(Alarm(.missingReplicas))])
        room.judge.silence(Alarm(.missingReplicas), until: nil)
        let data = try JSONEncoder().encode(room.judge)
        let names = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(
            Set(names.keys) == [
                "categories", "publishers", "agents", "drops", "replicaLoss", "unfitness", "standing", "silences",
                "lastLook", "observed",
            ]
        )
        let alarm = try #require((names["standing"] as? [Any])?.last as? [String: Any])
        #expect(Set(alarm.keys) == ["isTold", "finding"])
    }

    @Test(arguments: AlarmCase.all)
    func `a silenced alarm is not reported; one that outlasts its silence is`(alarmCase: AlarmCase) {
        var room = Self.settled()
        room.isBusy = alarmCase.alarm.kind != .silentCategory
        room.judge.silence(alarmCase.alarm, until: room.now + .seconds(Int64(alarmCase.minutes + 20) * 60))
        alarmCase.begin(&room)
        let silent = room.pass(alarmCase.minutes + 15)
        #expect(silent == [])
        #expect(room.judge.alarms == [alarmCase.alarm])
        let reported = room.pass(10)
        #expect(reported == [.raised(alarmCase.alarm)])
        room.judge.silence(alarmCase.alarm, until: nil)
        alarmCase.end(&room)
        let end = room.pass(60)
        #expect(end == [])
        #expect(!room.judge.isSilenced(alarmCase.alarm, at: room.now), "it has ended")
    }

    @Test(arguments: AlarmCase.all)
    func `nothing is raised while the clock is off`(alarmCase: AlarmCase) {
        var room = Self.settled()
        room.isBusy = alarmCase.alarm.kind != .silentCategory
        alarmCase.begin(&room)
        room.isClockSteady = false
        room.now.milliseconds += 400 * 86_400_000
        let changes = room.pass(alarmCase.minutes + 100)
        #expect(changes == [])
    }

    @Test func `nothing is raised on a fresh install`() {
        var room = Room()
        room.isReporting = false
        var changes = room.pass(2_000)
        for category in ["World", "Sports"] { room.facts.categories[category] = .some(nil) }
        changes += room.pass(20_000)
        #expect(changes == [])
    }

    @Test func `nothing is raised by what a restored copy of the database says`() {
        var room = Self.settled()
        room.setFeed(failingSince: room.now - .seconds(5 * 86_400))
        room.isReporting = false
        room.facts.dropped -= 100
        room.restart(after: 10_000)
        let changes = room.pass(20)
        #expect(changes == [])
        room.setFeed(failingSince: nil)
        room.isReporting = true
        let later = room.pass(30)
        #expect(later == [])
    }

    @Test func `a category that is silent longer than ever raises an alarm, its usual nights do not`() {
        var room = Room()
        room.isBusy = false
        room.rules.silences = [:]
        func day(_ room: inout Room) -> [AlarmChange] {
            var changes: [AlarmChange] = []
            for _ in 1...16 {
                room.message("World")
                changes += room.pass(60)
            }
            return changes + room.pass(480)
        }
        for number in 1...10 {
            let changes = day(&room)
            #expect(changes == [], "day \(number)")
        }
        // A night has eight hours and the hour before it.
        room.message("World")
        let usual = room.pass(540)
        #expect(usual == [])
        let unusual = room.pass(10)
        #expect(unusual == [.raised(Alarm(.silentCategory, "World"))])
        room.message("World")
        let end = room.pass(1)
        #expect(end == [.cleared(Alarm(.silentCategory, "World"))])
    }

    @Test func `a stop of the hub does not count as silence`() {
        var room = Self.settled()
        room.isBusy = false
        _ = room.pass(50)
        room.restart(after: 5_000)
        let settling = room.pass(5)
        #expect(settling == [])
        room.message("World")
        let changes = room.pass(59)
        #expect(changes == [])
    }

    @Test func `a name that is no longer known clears its alarm`() {
        var room = Self.settled()
        room.facts.agents["lobby"] = false
        _ = room.pass(70)
        room.facts.agents = [:]
        let changes = room.pass(1)
        #expect(changes == [.cleared(Alarm(.absentAgent, "lobby"))])
    }
}
