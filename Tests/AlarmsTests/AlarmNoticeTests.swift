import HubProtocol
import Testing

@testable import Alarms

struct AlarmNoticeTests {
    /// 2030-03-17T17:46:40Z.
    private static let now = Timestamp(milliseconds: 1_900_000_000_000)

    private static func compose(_ changes: [AlarmChange], limit: Int = 12) -> [AlarmNotice] {
        AlarmNotice.compose(changes, limit: limit) { alarm in
            AlarmDescription(alarm, AlarmFinding(since: now, deadline: now, publisher: "desk"), id: "abc")
        }
    }

    private static func silent(_ count: Int) -> [AlarmChange] {
        (1...count).map { .raised(Alarm(.silentCategory, "c\($0)")) }
    }

    @Test(arguments: Alarm.Kind.allCases)
    func `a notice says what, since when and what to do`(kind: Alarm.Kind) throws {
        let alarm = Alarm(kind, [.droppedMessages, .missingReplicas].contains(kind) ? "" : "lobby")
        let notice = try #require(Self.compose([.raised(alarm)]).first)
        #expect(notice.alarm == alarm && notice.isRaised)
        #expect(notice.title.contains(alarm.subject) || alarm.subject.isEmpty)
        #expect(notice.text.contains("2030-03-17 17:46 UTC") && notice.text.contains(kind.advice))
        #expect(notice.text.hasSuffix("newswire hub alarms silence abc"))
        let end = try #require(Self.compose([.cleared(alarm)]).first)
        #expect(end.title == "Ended: \(notice.title)" && end.text == kind.ending && !end.isRaised)
    }

    @Test func `many alarms of one kind are one notice that names some`() throws {
        let four = Self.compose(Self.silent(4))
        #expect(four.map(\.title) == (1...4).map { "No news in 'c\($0)'" })
        let many = Self.compose(Self.silent(10_000))
        let only = try #require(many.first)
        #expect(many.count == 1 && only.title == "10000 silent categories" && only.alarm == nil)
        #expect(only.text.hasPrefix("c1, c2, c3, c4, c5, c6, c7, c8 and 9992 more. "))
        #expect(only.text.contains("newswire hub alarms"))
    }

    @Test func `kinds are listed separately as long as there is room`() {
        let changes =
            Self.silent(5) + [
                .raised(Alarm(.absentAgent, "lobby")), .cleared(Alarm(.failingFeed, "https://a.example/")),
            ]
        let apart = Self.compose(changes)
        #expect(
            apart.map(\.title) == [
                "5 silent categories", "Ended: Feed fails: https://a.example/", "Agent 'lobby' is not connected",
            ]
        )
        let together = Self.compose(changes, limit: 2)
        #expect(together.map(\.title) == ["Alarms: 6 began, 1 ended"])
        #expect(together.first?.text.hasPrefix("silent categories: 5, agents that are not connected: 1. ") == true)
    }

    @Test func `a notice fits into a push notification whatever its subject is`() {
        let subject = String(repeating: "🔥", count: 2_000)
        for kind in Alarm.Kind.allCases {
            for change in [AlarmChange.raised(Alarm(kind, subject)), .cleared(Alarm(kind, subject))] {
                let notices = Self.compose([change]) + Self.compose((0..<9).map { _ in change })
                for notice in notices { #expect(notice.title.utf8.count + notice.text.utf8.count < 4_000, "\(kind)") }
            }
        }
    }
}
