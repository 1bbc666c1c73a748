import Alarms
import Foundation
import HubProtocol
import Testing

@testable import HubServer

/// Silences, bounds, and what monitors see.
struct AlarmSilenceTests {
    /// A hub whose category `World` is silent, and the alarm of it.
    private func run(_ body: (TestHub, AlarmReport) async throws -> Void) async throws {
        try await TestHub.runAlarmed(try Scratch()) { hub in
            await hub.service.alarms.look()
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 75)
            try await body(hub, try #require(try await hub.alarms().alarms.first))
        }
    }

    private func silence(_ hub: TestHub, _ id: String, _ body: String = "") async throws -> Int {
        try await hub.send("PUT", "alarms/\(id)/silence", as: hub.full, body).status
    }

    @Test func `nothing is sent of a silenced alarm, nor of its end`() async throws {
        try await run { hub, alarm in
            #expect(try await silence(hub, alarm.id) == 200)
            let silenced = try #require(try await hub.alarms().alarms.first)
            #expect(silenced.isSilenced && silenced.silencedUntil == nil && silenced.isRaised)
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 10)
            #expect(try await hub.notices().count == 1)
            #expect(try await hub.alarms().alarms.isEmpty)
            // The silence has ended with it.
            try await hub.pass(minutes: 75)
            #expect(try await hub.notices().count == 2)
        }
    }

    @Test func `an alarm that outlasts its silence, or whose silence is ended, is sent again`() async throws {
        try await run { hub, alarm in
            let until = Timestamp(hub.clock.now + 3_600).wholeSecond
            #expect(try await silence(hub, alarm.id, #"{"until":"\#(until)"}"#) == 200)
            #expect(try await hub.alarms().alarms.first?.silencedUntil == until)
            try await hub.pass(minutes: 55)
            #expect(try await hub.notices().count == 1)
            try await hub.pass(minutes: 5)
            #expect(try await hub.notices().count == 2)
            #expect(try await silence(hub, alarm.id) == 200)
            let ended = try await hub.send("DELETE", "alarms/\(alarm.id)/silence", as: hub.full)
            #expect(ended.status == 200)
            try await hub.pass(minutes: 5)
            #expect(try await hub.notices() == Array(repeating: "No news in 'World'", count: 3))
        }
    }

    @Test func `a silence is kept over a restart`() async throws {
        let (scratch, clock) = (try Scratch(), TestClock())
        try await TestHub.runAlarmed(scratch, clock: clock) { hub in
            await hub.service.alarms.look()
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 75)
            let alarm = try #require(try await hub.alarms().alarms.first)
            #expect(try await silence(hub, alarm.id) == 200)
        }
        try await TestHub.runAlarmed(scratch, clock: clock) { hub in
            #expect(try await hub.alarms().alarms.map(\.isSilenced) == [true])
            try await hub.pass(minutes: 60)
            #expect(try await hub.notices().count == 1)
        }
    }

    @Test func `silences that cannot be are refused`() async throws {
        try await run { hub, alarm in
            let now = hub.clock.now
            let times = [now - 1, now, now + 366 * 86_400].map { Timestamp($0).wholeSecond } + ["tomorrow", ""]
            for body in times.map({ #"{"until":"\#($0)"}"# }) + ["[]", "x", #"{"until":7}"#] {
                let status = try await silence(hub, alarm.id, body)
                #expect(status == 400, "\(body)")
            }
            let large = try await silence(hub, alarm.id, String(repeating: " ", count: 2_000))
            #expect(large == 413)
            for id in ["000000000000", "World", "%F0%9F%94%A5"] {
                let silenced = try await silence(hub, id)
                let ended = try await hub.send("DELETE", "alarms/\(id)/silence", as: hub.full)
                #expect(silenced == 404 && ended.status == 404, "\(id)")
            }
            let left = try await hub.alarms().alarms
            #expect(left == [alarm])
        }
    }

    /// Accepts a message for more categories than senders may name by default.
    private func accept(_ hub: TestHub, for categories: [String]) async throws {
        let expression = try TagExpression(parsing: categories.joined(separator: " || "), limits: .stored)
        let message = try Message(audience: .matching(expression), body: MessageProperties(["title": "x"]).encoded())
        let incoming = IncomingMessage(id: .random(), message: message, idempotencyKey: nil, contentHash: [])
        _ = try await hub.hub.messages.accept(incoming)
    }

    @Test func `ten thousand silent categories are one message`() async throws {
        let publishers = 20
        try await TestHub.runAlarmed(try Scratch()) {
            $0.alarmRules.silences = [:]
            $0.alarmRules.learning = .seconds(300)
            $0.alarmRules.shortestSilence = .seconds(900)
        } _: { hub in
            let names = (0..<publishers).map { publisher in (0..<500).map { "c\(publisher)-\($0)" } }
            for (index, categories) in names.enumerated() {
                try await hub.hub.setCategories(categories, publisher: "p\(index)", bytes: 0)
            }
            await hub.service.alarms.look()
            for _ in 1...3 {
                for categories in names { try await accept(hub, for: categories) }
                try await hub.pass(minutes: 5)
            }
            try await hub.pass(minutes: 60)
            // The six standard categories are announced first.
            let count = AlarmObserver.maximumCategories - CategoryList.standard.count
            #expect(try await hub.notices() == ["\(count) silent categories"])
            let list = try await hub.alarms()
            #expect(list.alarms.count == AlarmList.maximum && list.omitted == count - AlarmList.maximum)
        }
    }

    @Test func `a holder of Send brings about no flood`() async throws {
        try await TestHub.runAlarmed(try Scratch()) { hub in
            var look = 0
            let since = hub.clock.now - 10 * 86_400
            try await hub.pass(minutes: 240, every: 1) {
                look += 1
                let urls = (0..<50).map { "https://\(look)-\($0).example/" }
                try await hub.report(failing: look % 2 == 0 ? urls.map { ($0, since) } : [])
            }
            let notices = try await hub.notices()
            #expect(notices.count > 12 && Double(notices.count) <= AlarmBudget.burst + 4 * AlarmBudget.hourly)
            try await hub.pass(minutes: 60) { try await hub.report() }
            #expect(try await hub.alarms().alarms.isEmpty)
            let last = try await hub.notices().last
            #expect(last?.hasPrefix("Ended: ") == true, "the end is told, if late")
        }
    }

    @Test func `monitors and the overview count alarms by kind`() async throws {
        try await run { hub, alarm in
            let labels = #"{hub="news",kind="silentCategory"}"#
            var metrics = try await hub.metrics()
            #expect(metrics["newswire_alarm_active\(labels)"] == 1)
            #expect(metrics["newswire_alarm_raised_total\(labels)"] == 1)
            #expect(metrics[#"newswire_alarm_silenced{hub="news"}"#] == 0)
            let names = metrics.keys.filter { $0.hasPrefix("newswire_alarm_active") }
            #expect(names.count == Alarm.Kind.allCases.count)
            #expect(try await silence(hub, alarm.id) == 200)
            metrics = try await hub.metrics()
            #expect(metrics[#"newswire_alarm_silenced{hub="news"}"#] == 1)
            let reply = try await hub.send("GET", "overview", as: hub.full)
            let overview = try JSONDecoder().decode(HubOverview.self, from: Data(reply.body.utf8))
            #expect(overview.alarms == ["silentCategory": 1] && overview.silencedAlarms == 1)
        }
    }

    @Test func `without a tag alarms are shown and not sent`() async throws {
        try await TestHub.runAlarmed(try Scratch()) {
            $0.alarmTag = nil
        } _: { hub in
            await hub.service.alarms.look()
            try await hub.accept("news", tags: "World")
            try await hub.pass(minutes: 75)
            #expect(try await hub.alarms().alarms.map(\.subject) == ["World"])
            #expect(try await hub.newest().count == 1)
        }
    }
}
