import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import PushServices
import Testing

@testable import HubServer

/// Test sends with an idempotency key, and what is known of a test send later.
struct RepeatedTestSendTests {
    private func send(
        _ hub: TestHub,
        key: String? = "k",
        title: String = "x",
        device: String? = nil
    ) async throws -> Reply {
        var headers = [HeaderName.format: "apple", HeaderName.tags: "World"]
        headers[HeaderName.idempotencyKey] = key
        if let device {
            headers[HeaderName.deviceHandle] = device
            headers[HeaderName.tags] = nil
        }
        let body = #"{"aps":{"alert":"\#(title)"}}"#
        return try await hub.send("POST", "messages?test", as: hub.full, headers: headers, body)
    }

    private func register(_ hub: TestHub, _ handles: [String] = ["AA01", "AA02"]) async throws {
        for (number, handle) in handles.enumerated() {
            try await hub.register("\(number + 1)-1-1", .apns, .handle(handle))
        }
    }

    @Test func `a repeat is answered as the first send was, and pushes nothing`() async throws {
        let service = ScriptedPushService { sent in
            sent.target.channel.handle == "AA01" ? .accepted(id: nil) : .retry(after: nil, "APNs: 503")
        }
        try await ScriptedHub.run(service) { hub in
            try await register(hub)
            let first = try await send(hub)
            #expect(first.status == 201 && first.body.contains("<Success>1</Success><Failure>1</Failure>"))
            #expect(first.body.contains("The push service cannot accept the notification now: APNs: 503"))
            // Neither the service nor the registrations are as they were.
            service.answer { _ in .accepted(id: nil) }
            let gone = try await hub.send("DELETE", "registrations/1-1-1", as: hub.full, headers: ["If-Match": "*"])
            #expect(gone.status == 200)
            let again = try await send(hub)
            #expect(again.status == 201 && again.body == first.body)
            #expect(again.headers["location"] == first.headers["location"])
            #expect(service.handles == ["AA01", "AA02"])
            #expect(hub.hub.counters.repeated.count == 1)
            #expect(try await send(hub, title: "y").status == 422)
            let other = try await send(hub, key: "other")
            #expect(service.sent.count == 3 && other.body != first.body)
        }
    }

    @Test func `repeats that come while the first send is under way wait for it`() async throws {
        let door = Door()
        let service = ScriptedPushService { _ in
            await door.opened()
            return .accepted(id: nil)
        }
        try await ScriptedHub.run(service) { hub in
            try await register(hub, ["AA01"])
            let body = Array(#"{"aps":{"alert":"x"}}"#.utf8)
            let message = try Message(format: .apple, audience: .matching(TagExpression(parsing: "World")), body: body)
            let lookup = DeliveryLookup(hub: hub.hub, loops: hub.service.directory.loops(of: hub.hub))
            // Each one has begun to wait when the next one comes.
            let answers = (0..<5).map { _ in
                let incoming = IncomingMessage(
                    id: .random(),
                    message: message,
                    isTest: true,
                    idempotencyKey: "k",
                    contentHash: body
                )
                return Task.immediate { try await hub.hub.testSends.answer(to: incoming, lookup) }
            }
            #expect(hub.hub.counters.repeated.count == 4)
            door.open()
            let first = try await answers[0].value
            #expect(first.xml.contains("<Success>1</Success>"))
            for answer in answers {
                let same = try await answer.value
                #expect(same.id == first.id && same.xml == first.xml)
            }
            #expect(service.sent.count == 1)
        }
    }

    @Test func `a repeat after a restart is answered as the first send was`() async throws {
        let scratch = try Scratch()
        let service = ScriptedPushService()
        let first = try await ScriptedHub.run(service, scratch: scratch) { hub in
            try await register(hub)
            return try await send(hub).body
        }
        try await ScriptedHub.run(service, scratch: scratch) { hub in
            let again = try await send(hub)
            #expect(again.body == first)
            #expect(service.sent.count == 2)
        }
    }

    @Test func `a repeat of a send that a stop has cut off says that its outcome is not known`() async throws {
        let scratch = try Scratch()
        let service = ScriptedPushService()
        try await ScriptedHub.run(service, scratch: scratch) { hub in
            try await register(hub)
            _ = try await send(hub)
            _ = try await send(hub, key: "direct", device: "AA03")
        }
        try await scratch.damage("DELETE FROM testAnswer")
        try await scratch.damage("DELETE FROM delivery")
        try await ScriptedHub.run(service, scratch: scratch) { hub in
            for (key, device, count) in [("k", nil, 2), ("direct", "AA03", 1)] {
                let again = try await send(hub, key: key, device: device)
                let outcome = try #require(NotificationOutcome(xml: again.body))
                #expect(outcome.success == 0 && outcome.failure == count)
                #expect(outcome.results.allSatisfy { $0.outcome.contains("is not repeated") })
                let details = try await hub.details(try again.messageID)
                #expect(details.state == .unknown && details.outcomes.isEmpty)
            }
            #expect(service.sent.count == 3)
        }
    }

    @Test func `telemetry and failures of a test send are those of its attempts`() async throws {
        let service = ScriptedPushService { sent in
            switch sent.target.channel.handle {
            case "AA01": .accepted(id: nil)
            case "AA02": .badRoute("APNs: DeviceTokenNotForTopic")
            default: .deadHandle(DeadHandle(reason: "APNs: Unregistered"))
            }
        }
        try await ScriptedHub.run(service) { hub in
            try await register(hub, ["AA01", "AA02", "AA03"])
            try await hub.register("7-1-1", .xiaomi, .handle("token"))
            let id = try await send(hub, key: nil).messageID
            let details = try await hub.details(id)
            #expect(details.state == .completed)
            #expect(details.outcomes == [.apns: [.success: 1, .wrongToken: 1, .expiredChannel: 1]])
            #expect(
                hub.hub.counters.push.all == [
                    .init(platform: .apns, outcome: .success): 1, .init(platform: .apns, outcome: .wrongToken): 1,
                    .init(platform: .apns, outcome: .expiredChannel): 1,
                ]
            )
            let failures = try await hub.failures(id)
            #expect(failures.map(\.reason) == ["APNs: DeviceTokenNotForTopic", "APNs: Unregistered"])
            #expect(failures.map { $0.registration?.text } == ["2-1-1", "3-1-1"])
            #expect(try await hub.report(id, "AA01").device?.outcome == .sent)

            let direct = try await send(hub, key: nil, device: "AA02").messageID
            #expect(try await hub.details(direct).outcomes == [.apns: [.wrongToken: 1]])
            #expect(try await hub.failures(direct).map(\.handle) == ["AA02"])
            await hub.settlePushes()
            #expect(service.sent.count == 4, "nothing is tried again")
        }
    }
}
