import Foundation
import HubProtocol
import HubRouting
import HubStore
import StreamProbe
import Synchronization
import Testing

@testable import HubServer

/// Messages that wait for their time (protocol document §5.5).
struct ScheduledTests {
    private static let body = #"{"title":"later"}"#

    private func schedule(
        _ hub: TestHub,
        at time: String,
        key: String? = nil,
        headers: [String: String] = [:],
        body: String = body
    ) async throws -> Reply {
        var headers = headers
        headers[HeaderName.scheduleTime] = time
        headers[HeaderName.idempotencyKey] = key
        return try await hub.send(
            "POST",
            "schedulednotifications/?api-version=2020-06",
            as: hub.full,
            headers: headers,
            body
        )
    }

    @Test func `a scheduled message reaches agents when its time has come, under its own id and in its place`()
        async throws
    {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            let reply = try await schedule(hub, at: "2030-03-17T18:46:40", headers: [HeaderName.tags: "World"])
            let id = try reply.messageID
            #expect(reply.status == 201 && reply.body.isEmpty)
            #expect(reply.headers["location"] == "https://h/news/schedulednotifications/\(id)?api-version=2020-06")
            let waiting = try await hub.details(id)
            #expect(waiting.state == .scheduled && waiting.tags == "World" && waiting.body == Self.body)
            #expect(waiting.startTime == Date(timeIntervalSince1970: 1_900_003_600))
            #expect(try await hub.report(id).dueAt == "2030-03-17T18:46:40Z")
            #expect(try await hub.report(id, "a").device?.outcome == .notSent)

            clock.advance(by: 3_599)
            try await hub.accept("before", tags: "World")
            let head = hub.head
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["before"])
            clock.advance(by: 1)
            try await hub.wait { hub.head > head }
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["before", "later"])
            #expect(stream.probe.messages.last?.id == id)
            let report = try await hub.report(id, "a")
            #expect(report.position == head.next && report.matched == ["stream": 1])
            #expect(report.acceptedAt == "2030-03-17T17:46:40Z" && report.dueAt == "2030-03-17T18:46:40Z")
            #expect(report.device?.outcome == .written)
            let details = try await hub.details(id)
            #expect(details.state == .completed && details.enqueueTime == Date(timeIntervalSince1970: 1_900_000_000))
            #expect(details.startTime == Date(timeIntervalSince1970: 1_900_003_600))
        }
    }

    @Test func `who gets it is decided when it is released`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            var agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            _ = try await schedule(hub, at: "2030-03-17T17:47:40", headers: [HeaderName.tags: "World"])
            _ = try await schedule(
                hub,
                at: "2030-03-17T17:47:40",
                headers: [HeaderName.tags: "Sports"],
                body: #"{"title":"s"}"#
            )
            agent.tags = ["Sports"]
            try await hub.register(agent)
            let head = hub.head
            clock.advance(by: 60)
            try await hub.wait { hub.head == head.next.next }
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["s"])
        }
    }

    @Test func `late messages are released at the start, in the order of their times`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let agent = Agent("a")
        let ids = try await TestHub.run(scratch, clock: clock) { hub in
            try await hub.register(agent)
            let second = try await schedule(hub, at: "2030-03-17T19:00:00Z", body: #"{"title":"second"}"#).messageID
            let first = try await schedule(hub, at: "2030-03-17T18:00:00Z", body: #"{"title":"first"}"#).messageID
            _ = try await schedule(hub, at: "2030-03-18T19:00:00Z", body: #"{"title":"tomorrow"}"#)
            return [first, second]
        }
        clock.advance(by: 7_200)
        try await TestHub.run(scratch, clock: clock) { hub in
            try await hub.wait { hub.hub.status.scheduled.messages == 1 }
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["first", "second"])
            #expect(stream.probe.messages.map(\.id) == ids)
        }
    }

    @Test func `a direct send that was canceled is still one to a handle`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let reply = try await schedule(
                hub,
                at: "2030-03-18T00:00:00",
                headers: [HeaderName.format: "apple", HeaderName.deviceHandle: "AABB"],
                body: "{}"
            )
            let id = try reply.messageID
            #expect(try await hub.report(id).handles == 1)
            let path = "schedulednotifications/\(id)"
            #expect(try await hub.send("DELETE", path, as: hub.full).status == 200)
            let report = try await hub.report(id)
            #expect(report.handles == 1 && report.state == .canceled)
            let details = try await hub.details(id)
            #expect(details.startTime == nil && details.endTime != nil)
        }
    }

    @Test func `a wrong clock releases nothing until it has been right for an hour`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let id = try await schedule(hub, at: "2030-03-18T17:46:40Z").messageID
            clock.jump(by: 2 * 86_400)
            await hub.service.releases.look()
            #expect(try await hub.details(id).state == .scheduled)
            // Set right again, it is another jump.
            clock.jump(by: -2 * 86_400)
            await hub.service.releases.look()
            clock.advance(by: 86_400)
            await hub.service.releases.look()
            #expect(try await hub.details(id).state == .noTargetFound, "a day of both clocks is an hour, too")
        }
    }

    @Test func `a clock that is wrong at the start releases nothing`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let id = try await TestHub.run(scratch, clock: clock) { hub in
            try await schedule(hub, at: "2030-03-18T17:46:40Z").messageID
        }
        clock.advance(by: 30 * 86_400)
        try await TestHub.run(scratch, clock: clock) { hub in
            await hub.service.releases.look()
            clock.advance(by: 3_599)
            await hub.service.releases.look()
            let settling = try await hub.details(id)
            #expect(settling.state == .scheduled)
            clock.advance(by: 1)
            await hub.service.releases.look()
            let settled = try await hub.details(id)
            #expect(settled.state == .noTargetFound)
        }
    }

    // MARK: - Taking back

    @Test func `a canceled message is never sent, and says so after a restart`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let id = try await TestHub.run(scratch, clock: clock) { hub in
            let id = try await schedule(hub, at: "2030-03-17T18:46:40Z").messageID
            for _ in 0..<2 {
                let reply = try await hub.send(
                    "DELETE",
                    "schedulednotifications/\(id)?api-version=2020-06",
                    as: hub.full
                )
                #expect(reply.status == 200 && reply.body.isEmpty, "a second time as well: \(reply.body)")
            }
            let details = try await hub.details(id)
            #expect(details.state == .canceled && details.endTime == Date(timeIntervalSince1970: 1_900_000_000))
            #expect(hub.hub.status.scheduled == .none)
            return id
        }
        clock.advance(by: 7_200)
        try await TestHub.run(scratch, clock: clock) { hub in
            await hub.service.releases.look()
            let details = try await hub.details(id)
            #expect(details.state == .canceled && hub.head == 0)
            #expect(
                try await hub.report(id, "x").device?.explanation[0].contains("canceled at 2030-03-17T17:46:40Z")
                    == true
            )
        }
    }

    @Test func `what is not scheduled cannot be canceled: unknown 404, sent 409`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let unknown = try await hub.send("DELETE", "schedulednotifications/x", as: hub.full)
            #expect(unknown.status == 404)
            let id = try await schedule(hub, at: "2030-03-17T17:46:50Z").messageID
            clock.advance(by: 10)
            try await hub.wait { hub.head == 1 }
            let sent = try await hub.send("DELETE", "schedulednotifications/\(id)", as: hub.full)
            #expect(sent.status == 409)
            #expect(sent.error?.detail.contains("was sent at 2030-03-17T17:46:50Z and cannot be cancelled") == true)
            let atOnce = try await hub.accept("x")
            #expect(try await hub.send("DELETE", "schedulednotifications/\(atOnce)", as: hub.full).status == 409)
        }
    }

    @Test func `a canceled message is forgotten with the messages of its time`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let time = TestTime()
            let id = try await schedule(hub, at: "2030-03-17T18:46:40Z").messageID
            _ = try await hub.send("DELETE", "schedulednotifications/\(id)", as: hub.full)
            try await hub.pass(72 * 3_600, of: time)
            #expect(try await hub.details(id).state == .canceled)
            try await hub.pass(10, of: time)
            #expect(try await hub.send("GET", "messages/\(id)", as: hub.full).status == 404)
        }
    }

    // MARK: - Times and repeats

    @Test(arguments: [
        (".NET", "2030-03-18T03:04:05"), ("Java", "2030-03-18T03:04:05"), ("Go-d", "2030-03-18T03:04:05"),
        ("JS", "2030-03-18T03:04:05.000Z"), ("Go-m", "2030-03-18T05:04:05+02:00"), ("Python", "2030-03-18'T'03:04:05"),
    ])
    func `each client's time is understood`(client: String, time: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let reply = try await schedule(hub, at: time)
            #expect(reply.status == 201, "\(client): \(reply.body)")
            #expect(try await hub.report(try reply.messageID).dueAt == "2030-03-18T03:04:05Z", "\(client)")
        }
    }

    @Test func `Python schedules with test, and gets an address and no outcome`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let headers = [HeaderName.scheduleTime: "2030-03-18'T'03:04:05", HeaderName.format: "gcm"]
            let reply = try await hub.send(
                "POST",
                "schedulednotifications?api-version=2015-01&test",
                as: hub.full,
                headers: headers,
                #"{"data":{}}"#
            )
            #expect(reply.status == 201 && reply.body.isEmpty)
            #expect(try await hub.details(reply.messageID).state == .scheduled)
        }
    }

    @Test func `a repeat is answered as the first was, also when the time has passed`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let first = try await schedule(hub, at: "2030-03-17T17:47:40", key: "k")
            clock.advance(by: 120)
            try await hub.wait { hub.head == 1 }
            let again = try await schedule(hub, at: "2030-03-17T17:47:40", key: "k")
            #expect(again.status == 201 && again.headers["location"] == first.headers["location"])
            #expect(hub.head == 1)
            #expect(try await schedule(hub, at: "2030-03-17T17:47:41", key: "k").status == 422)
            #expect(try await schedule(hub, at: "2030-03-17T17:47:40").status == 400)
        }
    }

    @Test func `a time that has passed by seconds, for clocks that differ, is sent at once`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let reply = try await schedule(hub, at: "2030-03-17T17:46:35")
            #expect(reply.status == 201)
            await hub.service.releases.look()
            #expect(hub.hub.status.scheduled.messages == 0 && hub.head == 1)
        }
    }

    @Test func `only so much may wait`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let maximum = (messages: ScheduledMessages.maximum, bytes: ScheduledMessages.maximumBytes)
            try await hub.hub.perform { _, _ in
                ((), [UnscheduledEffect(messages: -maximum.messages, bytes: 0, nextDue: nil)])
            }
            let reply = try await schedule(hub, at: "2030-03-18T03:04:05")
            #expect(reply.status == 403 && reply.headers["retry-after"] == nil)
            #expect(reply.error?.detail.contains("The hub has 100000 scheduled messages") == true)
            try await hub.hub.perform { _, _ in
                ((), [UnscheduledEffect(messages: maximum.messages, bytes: -maximum.bytes, nextDue: nil)])
            }
            #expect(try await schedule(hub, at: "2030-03-18T03:04:05").status == 403)
        }
    }

    @Test func `a hub that is disabled releases nothing until it is enabled`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            _ = try await schedule(hub, at: "2030-03-17T17:46:50Z")
            try await hub.set { $0.isDisabled = true }
            clock.advance(by: 20)
            await hub.service.releases.look()
            #expect(hub.head == 0)
            try await hub.set { $0.isDisabled = false }
            await hub.service.releases.look()
            #expect(hub.head == 1)
        }
    }

    @Test func `a message that cannot be read keeps its place, and streams report it`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let record = try MessageRecord(id: .random(), tags: nil, body: Array("no JSON".utf8))
            let number = hub.hub.record.id
            let due = Timestamp(clock.now) + .seconds(1)
            try await hub.hub.perform { transaction, _ in
                try transaction.schedule(record, hub: number, dueAt: due, at: 0)
                return ((), [ScheduledEffect(bytes: record.bytes, dueAt: due)])
            }
            let head = hub.head
            clock.advance(by: 2)
            try await hub.wait { hub.head == head.next }
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.names == [StreamEventName.gap])
            #expect(hub.hub.status.scheduled == .none)
        }
    }
}
