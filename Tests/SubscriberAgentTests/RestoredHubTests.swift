import Foundation
import HostSystem
import HubProtocol
import HubTestServer
import ServerSentEvents
import Testing

@testable import SubscriberAgent

/// An agent whose hub was replaced by an older one, or sends what nobody can resume from.
@Suite(.timeLimit(.minutes(10))) struct RestoredHubTests {
    let stage: Stage
    var hub: ScriptedHub { stage.hub }
    var world: FakeWorld { stage.world }
    var output: FakeOutput { stage.output }

    init() throws { stage = try Stage() }

    @Test func `an agent that listens registers again at a new epoch, once`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent, ["Sports"])
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        hub.streams[0].cut()
        hub.streams[1].heartbeat("f-1")
        hub.streams[1].message(2, id: "f-2")
        await output.wait(forLines: 2)
        hub.streams[1].cut()
        // The same epoch again: nothing has changed.
        hub.streams[2].message(3, id: "f-3")
        await output.wait(forLines: 3)
        try await stage.stop(task)
        #expect(hub.state.puts.count == 2)
        #expect(hub.state.puts.last?.tags.map(\.text) == ["Sports"])
        #expect(hub.state.cursors == [nil, "e-1", "f-2"], "no stream was given up for it")
    }

    @Test func `an agent that listens registers again at a gap, once for each stream`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        hub.streams[0].cut()
        for place in [2, 4, 6] { hub.streams[1].gap(after: nil, resumesAt: Int64(place), id: "e-\(place - 1)") }
        hub.streams[1].message(2, id: "e-7")
        await output.wait(forLines: 5)
        try await stage.stop(task)
        #expect(hub.state.puts.count == 2)
    }

    @Test func `a hub that is too busy for it is asked again later`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        hub.set { $0.putReplies = [ScriptedHub.error(429, "busy", headers: [("Retry-After", "30")])] }
        hub.streams[0].cut()
        hub.streams[1].message(2, id: "f-2")
        await output.wait(forLines: 2)
        hub.streams[1].message(3, id: "f-3")
        await output.wait(forLines: 3)
        #expect(hub.state.puts.count == 1)
        world.pass(.seconds(60))
        hub.streams[1].message(4, id: "f-4")
        hub.streams[1].message(5, id: "f-5")
        await output.wait(forLines: 5)
        try await stage.stop(task)
        #expect(hub.state.puts.count == 2)
        #expect(hub.state.cursors.count == 2)
    }

    @Test func `a loss is in the inbox once, wherever its announcement began`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        for (number, after) in ["e-1", "f-3"].enumerated() {
            hub.streams[number].send(
                ServerSentEvent(
                    id: "f-\(number + 7)",
                    event: StreamEventName.gap,
                    data: #"{"after":"\#(after)","loss":"f-7","resumesAt":8,"reason":"the hub was restored"}"#
                )
            )
            hub.streams[number].message(number, id: "f-\(number + 8)")
            await output.wait(forLines: 2 + number)
            hub.streams[number].cut()
        }
        try await stage.stop(task)
        #expect(try await agent.inbox(last: 5).map(\.kind) == [.gap, .message, .message])
    }

    // MARK: - Cursors

    @Test(arguments: [String(repeating: "x", count: 257), "with space", "tab\there", "é", "\u{7F}"])
    func `an id that cannot be sent back moves no cursor`(id: String) async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        hub.streams[0].message(2, id: id)
        hub.streams[0].heartbeat(id)
        await output.wait(forLines: 2)
        hub.streams[0].cut()
        hub.streams[1].message(3, id: "e-3")
        await output.wait(forLines: 3)
        try await stage.stop(task)
        #expect(hub.state.cursors == [nil, "e-1"])
        #expect(try await agent.store.record().cursor == "e-3")
    }

    @Test func `a cursor that the hub refuses is dropped once, which is said`() async throws {
        let agent = try stage.agent()
        let first = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        hub.set { $0.streamReplies = [ScriptedHub.error(400, "Last-Event-ID is too long")] }
        hub.streams[0].cut()
        hub.streams[1].message(1, id: "e-1")
        hub.streams[1].message(2, id: "e-2")
        await output.wait(forLines: 2)
        #expect(hub.state.cursors == [nil, nil])
        #expect(stage.delivered == ["m1", "m2"])
        #expect(world.warnings.contains { $0.contains("stored position") && $0.contains("Last-Event-ID is too long") })
        hub.set { $0.streamReplies = [ScriptedHub.error(400, "again")] }
        hub.streams[1].cut()
        let error = await #expect(throws: AgentError.self) { try await first.value }
        #expect(error?.exit == .badConfiguration)
        #expect(try await agent.store.record().cursor == "e-2")
    }

    @Test func `a stored cursor that no hub would take is dropped without asking one`() async throws {
        let agent = try stage.agent()
        try await agent.store.choose(["World"])
        try await agent.store.receive([], cursor: String(repeating: "x", count: 100_000), at: .sample)
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(hub.state.cursors == [nil])
        #expect(world.warnings.contains { $0.contains("stored position") })
    }

    @Test func `a refusal without a cursor ends the agent as before`() async throws {
        let agent = try stage.agent()
        hub.set { $0.streamReplies = [ScriptedHub.error(400, "no")] }
        let task = try stage.start(agent)
        let error = await #expect(throws: AgentError.self) { try await task.value }
        #expect(error?.exit == .badConfiguration)
    }
}
