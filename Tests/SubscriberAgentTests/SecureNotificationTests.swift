import Foundation
import HubProtocol
import HubTestServer
import ServerSentEvents
import Synchronization
import Testing

@testable import SubscriberAgent

@Suite(.timeLimit(.minutes(10))) struct SecureNotificationTests {
    let stage: Stage
    let backend: ScriptedBackend
    var hub: ScriptedHub { stage.hub }
    var world: FakeWorld { stage.world }
    var output: FakeOutput { stage.output }

    init() throws {
        stage = try Stage()
        backend = try ScriptedBackend(stage.hub)
        backend.set { $0.payloads = [7: ("alice", "the safe is open"), 8: ("bob", "not for alice")] }
    }

    private func logIn(_ user: String = "alice") async throws {
        _ = try await stage.agent().logIn(
            user: user,
            password: ScriptedBackend.password,
            at: backend.address,
            device: ""
        )
    }

    @Test func `a text is fetched, kept in the inbox and handed over as any message`() async throws {
        try await logIn()
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].secureMessage(1, secureID: "7", id: "e-1")
        await output.wait(forLines: 1)
        // What came before is not fetched again.
        hub.streams[0].secureMessage(1, secureID: "7", id: "e-1")
        hub.streams[0].message(2, id: "e-2")
        await output.wait(forLines: 2)
        try await stage.stop(task)
        #expect(stage.delivered == ["m1", "m2"])
        #expect(output.lines[0].contains(#""message":"the safe is open""#))
        #expect(backend.state.fetches == 1)
        let rows = try await agent.inbox(last: 5)
        #expect(rows.map(\.content.message) == ["the safe is open", "message 2"])
        #expect(rows.map(\.state) == [.done, .done])
        #expect(world.warnings.isEmpty)
    }

    @Test func `a text is harmless on a terminal`() async throws {
        backend.set { $0.payloads[9] = ("alice", "red\u{1B}[31m\nnewswire: error: \u{202E}forged") }
        try await logIn()
        let task = try stage.start(try stage.agent(), handler: .print)
        hub.streams[0].secureMessage(1, secureID: "9", id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(output.lines == ["red[31m newswire: error: forged"])
    }

    @Test func `without a login one line asks for it, and the texts follow`() async throws {
        let gate = Gate()
        world.onSleep.withLock { $0 = { if $0 == BackendWork.glance { await gate.opened() } } }
        let agent = try stage.agent()
        let task = try stage.start(agent)
        backend.set { $0.payloads[6] = ("alice", "and so is the door") }
        hub.streams[0].secureMessage(1, secureID: "7", id: "e-1")
        hub.streams[0].secureMessage(2, secureID: "6", id: "e-2")
        hub.streams[0].message(3, id: "e-3")
        await output.wait(forLines: 1)
        #expect(stage.delivered == ["m3"])
        await world.changes.wait { world.warnings.count == 1 }
        #expect(try await agent.secureCount() == 2)
        try await logIn()
        gate.open()
        await output.wait(forLines: 3)
        try await stage.stop(task)
        #expect(stage.delivered == ["m3", "m1", "m2"])
        #expect(world.warnings == ["a secure notification has arrived; log in to read it"])
        #expect(world.hints == [.logIn])
        #expect(try await agent.secureCount() == 0)
    }

    @Test func `texts that wait are there after a restart`() async throws {
        let gate = Gate()
        world.onSleep.withLock { $0 = { if $0 == BackendWork.glance { await gate.opened() } } }
        let first = try stage.start(try stage.agent())
        hub.streams[0].secureMessage(1, secureID: "7", id: "e-1")
        await world.changes.wait { world.warnings.count == 1 }
        first.cancel()
        gate.open()
        _ = try await first.value
        try await logIn()
        let second = try stage.start(try stage.agent(), nil)
        await output.wait(forLines: 1)
        try await stage.stop(second)
        #expect(stage.delivered == ["m1"])
    }

    @Test func `a refused token keeps the text until the next login`() async throws {
        let gate = Gate()
        world.onSleep.withLock { $0 = { if $0 == BackendWork.glance { await gate.opened() } } }
        try await logIn()
        let task = try stage.start(try stage.agent())
        await hub.streams[0].connected()
        await backend.wait { !$0.puts.isEmpty }
        backend.set { $0.tokens = [:] }
        hub.streams[0].secureMessage(1, secureID: "7", id: "e-1")
        await world.changes.wait { world.warnings.count == 2 }
        try await logIn()
        gate.open()
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(
            world.warnings == [
                "the login of 'alice' is no longer valid; news of the categories continues",
                "a secure notification has arrived; log in to read it",
            ]
        )
    }

    @Test func `an id that is not there is dropped with a line`() async throws {
        try await logIn()
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].secureMessage(1, secureID: "8", id: "e-1")
        hub.streams[0].secureMessage(2, secureID: "7", id: "e-2")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(stage.delivered == ["m2"])
        #expect(world.warnings == ["a secure notification has expired, or is not for 'alice'"])
        #expect(try await agent.secureCount() == 0)
    }

    @Test func `an address without an app backend does not drop a text`() async throws {
        try await logIn()
        let task = try stage.start(try stage.agent())
        await backend.wait { !$0.puts.isEmpty }
        backend.set { $0.replies = [.status(404, body: "<Error/>"), .status(404)] }
        hub.streams[0].secureMessage(1, secureID: "7", id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(world.warnings.count == 1 && world.warnings[0].contains("there is no app backend at this address"))
        #expect(world.notices == ["the app backend is available again"])
    }

    @Test func `an app backend that is away is asked again, with waits that grow`() async throws {
        try await logIn()
        let task = try stage.start(try stage.agent())
        await backend.wait { !$0.puts.isEmpty }
        let busy = ScriptedBackend.error(503, "busy")
        let limited = ScriptedBackend.error(429, "too many", headers: [("Retry-After", "30")])
        backend.set { $0.replies = [busy, busy, limited] }
        hub.streams[0].secureMessage(1, secureID: "7", id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(stage.delivered == ["m1"])
        #expect(world.sleeps == [.seconds(1), .seconds(2), .seconds(32)])
        #expect(world.warnings.count == 1)
    }

    @Test func `another user's login leaves a text for the one whom it is for`() async throws {
        let gate = Gate()
        world.onSleep.withLock { $0 = { if $0 == BackendWork.glance { await gate.opened() } } }
        try await logIn()
        let agent = try stage.agent()
        let task = try stage.start(agent)
        await backend.wait { !$0.puts.isEmpty }
        backend.set { $0.tokens = [:] }
        hub.streams[0].secureMessage(1, secureID: "7", id: "e-1")
        await world.changes.wait { world.warnings.count == 2 }
        try await logIn("bob")
        gate.open()
        await world.changes.wait { world.sleeps.count >= 3 }
        let fetches = backend.state.fetches
        #expect(fetches == 0, "bob's token asks for nothing of alice's")
        try await logIn("alice")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(stage.delivered == ["m1"])
    }

    @Test func `a text that nobody fetched for 72 hours is dropped`() async throws {
        let agent = try stage.agent()
        let store = agent.store
        let now = Timestamp.sample
        try await store.receive([.secure(1, id: 7)], cursor: "e-1", at: now)
        try await store.receive([.secure(2, id: 8)], cursor: "e-2", at: now + .seconds(3_600))
        let none = try await store.dropSecure(before: now)
        #expect(none == 0)
        let dropped = try await store.dropSecure(before: now + .seconds(1))
        #expect(dropped == 1)
        let next = try await store.nextSecure(for: "alice")
        #expect(next?.secureID == 8)
    }

    @Test func `ids are bounded, and the oldest make room`() async throws {
        var bounds = AgentStore.Bounds()
        bounds.secure = 2
        let store = try stage.agent(bounds: bounds).store
        for number in 1...4 {
            try await store.receive([.secure(number, id: Int64(number))], cursor: nil, at: .sample)
        }
        let dropped = try await store.dropSecure(before: .sample)
        #expect(dropped == 2)
        #expect(try await store.secureCount() == 2)
        let next = try await store.nextSecure(for: "alice")
        #expect(next?.secureID == 3)
    }

    @Test func `marks of texts that wait are kept`() async throws {
        var bounds = AgentStore.Bounds()
        bounds.marks = 1
        let store = try stage.agent(bounds: bounds).store
        try await store.receive([.secure(1, id: 7)], cursor: nil, at: .sample)
        try await store.receive([.sample(2), .sample(3), .sample(4)], cursor: nil, at: .sample)
        try await store.purge()
        let repeated = try await store.receive([.secure(1, id: 7)], cursor: nil, at: .sample)
        #expect(repeated.isEmpty)
        let record = try #require(try await store.nextSecure(for: "alice"))
        #expect(try await store.resolve(record, text: "text"))
        #expect(try await !store.resolve(record, text: "text"), "another process may have deleted it")
        let rows = try await store.records(last: 1_000, states: [.pending])
        #expect(rows.map(\.id) == ["m1", "m2", "m3", "m4"])
    }

    @Test(
        arguments: [
            (#"{"secureId":"7"}"#, 7), (#"{"title":"","message":"","secureId":"2147483647"}"#, 2_147_483_647),
            (#"{"secureId":"0"}"#, nil), (#"{"secureId":"2147483648"}"#, nil), (#"{"secureId":"-7"}"#, nil),
            (#"{"secureId":"seven"}"#, nil), (#"{"secureId":7}"#, nil), (#"{"secureId":"7","message":"seen"}"#, nil),
            (#"{"message":"seen"}"#, nil),
        ] as [(String, Int64?)]
    )
    func `an id is a positive number of 31 bits, in a message without a text`(body: String, id: Int64?) throws {
        let event = StreamEvent(id: try MessageID("m1"), template: "", body: body)
        #expect(Arrival.message(event, rendered: .standard).secureID == id)
    }
}

extension Arrival {
    fileprivate static func secure(_ number: Int, id: Int64) -> Arrival {
        var arrival = Arrival(
            kind: .message,
            id: "m\(number)",
            template: "",
            body: #"{"secureId":"\#(id)"}"#,
            content: MessageContent(),
            failure: nil
        )
        arrival.secureID = id
        return arrival
    }
}
