import HubProtocol
import HubRouting
import HubStore
import PushServices
import StreamProbe
import Testing

import class HubTestServer.Gate

@testable import HubServer

/// A device that changes hands while messages by name wait gets none of its former user's.
@Suite(.timeLimit(.minutes(5))) struct ChangedHandsTests {
    private static let device = RegistrationID.random()

    /// Registers the device for a user, as an app backend does.
    private func register(_ user: String, _ hub: TestHub) async throws {
        let registration = Registration(
            id: Self.device,
            tags: [try Tag("username:\(user)")],
            platform: .apns,
            pushChannel: .handle("AAAA")
        )
        _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
    }

    @discardableResult
    private func notify(_ user: String, _ hub: TestHub, at time: String? = nil) async throws -> MessageID {
        var headers = [HeaderName.format: "apple", HeaderName.tags: "username:\(user)"]
        headers[HeaderName.scheduleTime] = time
        let path = time == nil ? "messages" : "schedulednotifications"
        return try await hub.send("POST", path, as: hub.full, headers: headers, Self.alert(user)).messageID
    }

    private static func alert(_ user: String) -> String { #"{"aps":{"alert":"for \#(user)"}}"# }

    /// The texts that the device was sent.
    private func sent(_ service: ScriptedPushService) -> [String] {
        service.sent.filter { $0.target.channel == .handle("AAAA") }.map(\.body)
    }

    @Test func `a message that waits for a retry`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(10), "503") }
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            try await register("ann", hub)
            let id = try await notify("ann", hub)
            await hub.settlePushes()
            try await register("bob", hub)
            service.answer { _ in .accepted(id: nil) }
            clock.advance(by: 60)
            try await notify("bob", hub)
            await hub.settlePushes()
            #expect(sent(service) == [Self.alert("ann"), Self.alert("bob")], "the first one was refused")
            #expect(try await hub.report(id).outcomes == ["apns": ["Skipped": 1]])
        }
    }

    @Test func `a message that was not yet due`() async throws {
        let service = ScriptedPushService()
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            try await register("ann", hub)
            try await notify("ann", hub, at: "2030-03-17T17:47:40")
            try await notify("bob", hub, at: "2030-03-17T17:47:40")
            try await register("bob", hub)
            let head = hub.head
            clock.advance(by: 60)
            try await hub.wait { hub.head.rawValue >= head.rawValue + 2 }
            await hub.settlePushes()
            #expect(sent(service) == [Self.alert("bob")])
        }
    }

    /// The targets of a message are chosen from the state before its commit.
    @Test func `a message that shares its commit with the change`() async throws {
        let service = ScriptedPushService()
        try await ScriptedHub.run(service) { hub in
            try await register("ann", hub)
            let (isHeld, gate) = (Gate(), Gate())
            let holding = Task {
                try await hub.hub.perform { _, _ in
                    isHeld.open()
                    gate.blockUntilOpen()
                    return ((), [])
                }
            }
            await isHeld.opened()
            let change = Task { try await register("bob", hub) }
            try await hub.wait { hub.hub.writer.backlog.changes >= 1 }
            let message = Task { try await notify("ann", hub) }
            try await hub.wait { hub.hub.writer.backlog.changes >= 2 }
            gate.open()
            try await holding.value
            try await change.value
            let id = try await message.value
            await hub.settlePushes()
            #expect(sent(service) == [])
            #expect(try await hub.report(id).outcomes == ["apns": ["Skipped": 1]])
            try await notify("bob", hub)
            await hub.settlePushes()
            #expect(sent(service) == [Self.alert("bob")])
        }
    }

    @Test func `a message that waits until a slow push service has a slot`() async throws {
        let service = ScriptedPushService()
        let clock = TestClock()
        try await ScriptedHub.run(service, clock: clock) { hub in
            try await register("ann", hub)
            for number in 0..<service.concurrency {
                let other = Registration(
                    id: .random(),
                    tags: [try Tag("World")],
                    platform: .apns,
                    pushChannel: .handle("BB\(100 + number)0")
                )
                _ = try await hub.hub.registrations.put(other, if: .none, bytes: 0, grant: hub.manageGrant)
            }
            let gate = Gate()
            service.answer { _ in
                await gate.opened()
                return .accepted(id: nil)
            }
            defer { gate.open() }
            try await hub.send(format: "apple", #"{"aps":{"alert":"x"}}"#, tags: "World")
            await service.sent(atLeast: service.concurrency)
            let id = try await notify("ann", hub)
            // Her registration has been read by then.
            await service.prepared(Self.alert("ann"))
            try await register("bob", hub)
            clock.advance(by: 3)
            gate.open()
            await hub.settlePushes()
            #expect(sent(service) == [])
            #expect(try await hub.report(id).outcomes == ["apns": ["Skipped": 1]])
        }
    }

    @Test func `a message that waits for an agent, which still gets the categories of its former choice`() async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["World", "username:ann"])
            try await hub.register(agent, as: hub.manageGrant)
            let id = try await hub.accept("for Ann", tags: "username:ann")
            try await hub.accept("world", tags: "World")
            try await hub.accept("not for Bob", tags: "World && !username:bob")
            agent.tags = ["Sports", "username:bob"]
            try await hub.register(agent, as: hub.manageGrant)
            try await hub.accept("for Bob", tags: "username:bob")
            try await hub.accept("sports", tags: "Sports")
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["world", "for Bob", "sports"])
            let explanation = try await hub.report(id, "a").device?.explanation ?? []
            #expect(explanation.contains { $0.hasPrefix("it has changed hands since") }, "\(explanation)")
        }
    }

    @Test func `a message that an open stream has no room for`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["username:ann"])
            try await hub.register(agent, as: hub.manageGrant)
            let stream = try hub.probe(agent, taking: false)
            try await hub.settle([stream])
            try await hub.accept("for Ann", tags: "username:ann")
            agent.tags = ["username:bob"]
            try await hub.register(agent, as: hub.manageGrant)
            try await hub.accept("for Bob", tags: "username:bob")
            stream.take(true)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["for Bob"])
        }
    }
}
