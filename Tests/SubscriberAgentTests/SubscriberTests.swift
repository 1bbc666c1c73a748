import Foundation
import HostSystem
import HubProtocol
import HubTestServer
import Logging
import ServerSentEvents
import Testing

@testable import SubscriberAgent

@Suite(.timeLimit(.minutes(10))) struct SubscriberTests {
    let stage: Stage
    var hub: ScriptedHub { stage.hub }
    var world: FakeWorld { stage.world }
    var output: FakeOutput { stage.output }

    init() throws { stage = try Stage() }

    @Test func `a first subscribe registers, streams and hands over`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent, ["world", "Sports"])
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)

        let put = try #require(hub.state.puts.first)
        #expect(hub.state.puts.count == 1)
        #expect(put.platform == .stream)
        #expect(put.tags.map(\.text) == ["World", "Sports"])
        #expect(put.templates[AgentTemplate.name]?.body == AgentTemplate.body)
        #expect(hub.state.cursors == [nil])
        #expect(
            output.lines == [
                #"{"category":"World","id":"m1","link":"","message":"message 1","receivedAt":"2025-06-15T15:06:40.000Z","#
                    + #""title":"title 1"}"#
            ]
        )
        #expect(try await agent.store.record().cursor == "e-1")
        #expect(try await agent.inbox(last: 5).map(\.state) == [.done])
    }

    @Test func `the next start uses what was stored and goes on from the cursor`() async throws {
        let first = try stage.start(try stage.agent())
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(first)

        let directory = try stage.scratch.stateDirectory()
        let again = try SubscriberAgent(
            AgentConfiguration(directory: directory),
            environment: world.environment,
            http: stage.http,
            logger: .init(label: "test")
        )
        let second = try stage.start(again, nil)
        hub.streams[1].message(2, id: "e-2")
        await output.wait(forLines: 2)
        try await stage.stop(second)
        #expect(hub.state.cursors == [nil, "e-1"])
        #expect(hub.state.puts.count == 2)
        #expect(hub.state.puts.map(\.id).first == hub.state.puts.map(\.id).last)
        let rights = try FileManager.default.attributesOfItem(atPath: directory.file("connection"))[.posixPermissions]
        #expect(rights as? Int == 0o600)
    }

    @Test func `repeats and overlapping replays enter the inbox once`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        for number in [1, 2, 2, 3] { hub.streams[0].message(number, id: "e-\(number)") }
        await output.wait(forLines: 3)
        hub.streams[0].cut()
        for number in [2, 3, 4] { hub.streams[1].message(number, id: "e-\(number)") }
        await output.wait(forLines: 4)
        try await stage.stop(task)
        #expect(stage.delivered == ["m1", "m2", "m3", "m4"])
        #expect(hub.state.cursors == [nil, "e-3"])
    }

    @Test func `of several events of one sequence only the last moves the cursor`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        hub.streams[0].message(2, id: nil)
        await output.wait(forLines: 2)
        #expect(try await agent.store.record().cursor == "e-1")
        // Cut in the middle of the sequence: all of it comes again.
        hub.streams[0].cut()
        hub.streams[1].message(2, id: nil)
        hub.streams[1].message(3, id: "e-2")
        await output.wait(forLines: 3)
        try await stage.stop(task)
        #expect(hub.state.cursors == [nil, "e-1"])
        #expect(stage.delivered == ["m1", "m2", "m3"])
        #expect(try await agent.store.record().cursor == "e-2")
    }

    @Test func `heartbeats move the cursor, now and then on disk, and at the end`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        hub.streams[0].heartbeat("e-7")
        hub.streams[0].message(2, id: nil)
        await output.wait(forLines: 2)
        // Five seconds had not passed, but the message took the position before it along.
        #expect(try await agent.store.record().cursor == "e-7")
        hub.streams[0].heartbeat("e-9")
        hub.streams[0].end()
        await hub.streams[1].connected()
        try await stage.stop(task)
        #expect(hub.state.cursors == [nil, "e-9"])
    }

    @Test func `a gap is a row, a warning and a line`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].gap(after: "e-1", resumesAt: 40, id: "f-39")
        hub.streams[0].message(1, id: "f-40")
        await output.wait(forLines: 2)
        hub.streams[0].cut()
        // The same gap again is the same row.
        hub.streams[1].gap(after: "e-1", resumesAt: 40, id: "f-39")
        hub.streams[1].message(2, id: "f-41")
        await output.wait(forLines: 3)
        try await stage.stop(task)
        #expect(world.warnings == ["messages were missed: the log was too short"])
        #expect(output.lines[0].contains(#""gap":{"after":"e-1","reason":"the log was too short","resumesAt":40}"#))
        #expect(try await agent.inbox(last: 9).map(\.kind) == [.gap, .message, .message])
    }

    /// Foundation's decoder ends the process on the first two (Swift 6.3.1).
    @Test(arguments: [
        String(repeating: "[", count: 513), String(repeating: "{\"a\":", count: 512) + "[",
        #"{"reason":"x","resumesAt":2,"more":\#(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))}"#,
    ])
    func `a gap with many levels is a gap of which nothing is known`(data: String) async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].send(ServerSentEvent(id: "e-3", event: StreamEventName.gap, data: data))
        hub.streams[0].message(4, id: "e-4")
        await output.wait(forLines: 2)
        try await stage.stop(task)
        #expect(world.warnings == ["messages were missed: the hub did not report which"])
        #expect(try await agent.inbox(last: 9).map(\.kind) == [.gap, .message])
    }

    @Test func `an event that cannot be read is put aside, and those after it arrive`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].send("id: e-1\ndata: {\"id\":\n\n")
        hub.streams[0].send("id: e-2\nevent: weather\ndata: rain\n\n")
        hub.streams[0].message(3, id: "e-3")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        let rows = try await agent.inbox(last: 9)
        #expect(rows.map(\.kind) == [.unreadable, .message])
        #expect(rows.first?.state == .failed)
        #expect(world.warnings.count == 1)
    }

    @Test func `replaced ends without another stream`() async throws {
        let task = try stage.start(try stage.agent())
        hub.streams[0].send("event: replaced\ndata: {}\n\n")
        let ending = try await task.value
        #expect(ending == .replaced)
        #expect(ending.exitCode == 78)
        #expect(hub.state.cursors.count == 1)
        #expect(world.warnings == ["another subscriber has taken over this installation's stream; stopping"])
    }

    @Test func `revoked registers again, and a revoked key then ends it`() async throws {
        let task = try stage.start(try stage.agent())
        hub.streams[0].send("event: revoked\ndata: {}\n\n")
        await hub.streams[1].connected()
        #expect(hub.state.puts.count == 2)
        #expect(world.notices == ["the hub had revoked this installation; registered again"])
        hub.set { $0.putReplies = [ScriptedHub.error(401, "InvalidSignature: The token has an invalid signature.")] }
        hub.streams[1].send("event: revoked\ndata: {}\n\n")
        let error = await #expect(throws: AgentError.self) { _ = try await task.value }
        #expect(error?.exit == .badConfiguration)
        #expect(error?.description.contains("InvalidSignature") == true)
    }

    @Test func `that the hub is away and back is said once each`() async throws {
        hub.set { $0.putReplies = Array(repeating: .hangUp, count: 3) + [ScriptedHub.error(503, "busy")] }
        let agent = try stage.agent()
        try await agent.store.choose(["World"])
        let task = try stage.start(agent, nil)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(world.warnings.filter { $0.hasPrefix("the hub is not available") }.count == 1)
        #expect(world.warnings.count == 1)
        #expect(world.notices == ["the hub is available again"])
        #expect(world.sleeps == [1, 2, 4, 8].map { .seconds($0) })
    }

    @Test func `a hub that is away at the first subscribe is spoken of once`() async throws {
        hub.set {
            $0.categoryReplies = [ScriptedHub.error(503, "busy")]
            $0.putReplies = [ScriptedHub.error(503, "busy"), ScriptedHub.error(503, "busy")]
        }
        let task = try stage.start(try stage.agent())
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(world.warnings.count == 1)
        #expect(world.notices == ["the hub is available again"])
    }

    @Test func `a stream that ends is opened again without a word, after retry with jitter`() async throws {
        let task = try stage.start(try stage.agent())
        hub.streams[0].send("retry: 7000\n\n")
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        hub.streams[0].end()
        hub.streams[1].message(2, id: "e-2")
        await output.wait(forLines: 2)
        try await stage.stop(task)
        #expect(world.warnings.isEmpty)
        #expect(world.notices.isEmpty)
        #expect(world.sleeps == [.milliseconds(3_500)])
        #expect(hub.state.puts.count == 1)
    }

    @Test func `Retry-After is honoured`() async throws {
        hub.set { $0.streamReplies = [ScriptedHub.error(429, "slow", headers: [("Retry-After", "30")])] }
        let task = try stage.start(try stage.agent())
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(world.sleeps == [.seconds(31)])
    }

    @Test func `a hub that throttles registrations and streams is waited for as long as it says, and spoken of once`()
        async throws
    {
        hub.set { state in
            state.putReplies = ["30", "40"].map { ScriptedHub.error(429, "slow", headers: [("Retry-After", $0)]) }
            state.streamReplies = [ScriptedHub.error(429, "too many", headers: [("Retry-After", "60")])]
        }
        let task = try stage.start(try stage.agent())
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        // The agent registers again beside its stream.
        await hub.wait { $0.puts.count >= 2 }
        try await stage.stop(task)
        // Each time with some jitter.
        #expect(world.sleeps == [31, 42, 62].map { .seconds($0) })
        // Between its registration and the stream a minute has passed, in which the hub may have been restored.
        #expect(hub.state.puts.count == 2)
        #expect(world.warnings.count == 1, "\(world.warnings)")
        #expect(world.warnings.first?.contains("429") == true)
        #expect(world.notices == ["the hub is available again"])
    }

    @Test func `a hub that stores no more for now does not refuse the key`() async throws {
        hub.set { $0.putReplies = [ScriptedHub.error(403, "ListenQuotaExceeded: This hub holds 2 installations")] }
        let task = try stage.start(try stage.agent())
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(hub.state.puts.count >= 1 && world.warnings.count == 1, "\(world.warnings)")
        #expect(world.warnings.first?.contains("cannot store more now") == true)
    }

    @Test func `an installation that the hub lost is put again`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        hub.set { $0.isInstalled = false }
        hub.streams[0].end()
        hub.streams[1].message(2, id: "e-2")
        await output.wait(forLines: 2)
        try await stage.stop(task)
        #expect(hub.state.puts.count == 2)
        #expect(hub.state.cursors == [nil, "e-1"])
        #expect(world.notices == ["the hub had lost this installation; registered again"])
    }

    @Test func `a hub without streams ends it after three tries`() async throws {
        hub.set { $0.streamReplies = Array(repeating: ScriptedHub.error(404, "no such route"), count: 9) }
        let task = try stage.start(try stage.agent())
        let error = await #expect(throws: AgentError.self) { _ = try await task.value }
        #expect(error?.exit == .badConfiguration)
        #expect(hub.state.streamReplies.count == 6)
    }

    @Test func `an expired token is a matter of clocks, warned of once and tried on`() async throws {
        let expired = ScriptedHub.error(401, "ExpiredToken: The token is expired.")
        let agent = try stage.agent()
        try await agent.store.choose(["World"])
        hub.set { $0.putReplies = [expired, expired, expired] }
        let task = try stage.start(agent, nil)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(world.warnings.count == 1)
        #expect(world.warnings.first?.contains("clock") == true)
    }

    @Test(arguments: [
        (401, "InvalidSignature: The token has an invalid signature."), (401, "MissingToken: none"),
        (403, "Listen claim is required for this operation."),
    ])
    func `a refused key ends it with one line`(status: Int, detail: String) async throws {
        let agent = try stage.agent()
        try await agent.store.choose(["World"])
        hub.set { $0.putReplies = [ScriptedHub.error(status, detail)] }
        let error = await #expect(throws: AgentError.self) { _ = try await stage.start(agent, nil).value }
        #expect(error?.exit == .badConfiguration)
        #expect(error?.description == "the hub refused the key: \(status) \(detail)")
        #expect(world.warnings.isEmpty)
    }

    @Test func `an installation under a foreign secret ends it`() async throws {
        let agent = try stage.agent()
        try await agent.store.choose(["World"])
        hub.set { $0.putReplies = [ScriptedHub.error(409, "SubCode=40900. Conflict.")] }
        let error = await #expect(throws: AgentError.self) { _ = try await stage.start(agent, nil).value }
        #expect(error == HubFailure.foreignError)
    }

    @Test func `without a choice there is nothing to listen to`() async throws {
        let agent = try stage.agent()
        let error = await #expect(throws: AgentError.self) { _ = try await stage.start(agent, nil).value }
        #expect(error?.exit == .badConfiguration)
        #expect(hub.server.requests.isEmpty)
    }

    @Test func `a jump of the wall clock loses and repeats nothing`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        let jumps: [TimeInterval] = [-86_400, 86_400, 10 * 365 * 86_400, -10 * 365 * 86_400]
        for (number, jump) in jumps.enumerated() {
            hub.streams[0].message(number, id: "e-\(number)")
            await output.wait(forLines: number + 1)
            world.setWallClock { $0.addingTimeInterval(jump) }
        }
        try await stage.stop(task)
        try await agent.store.purge()
        #expect(try await agent.inbox(last: 9).map(\.id) == ["m0", "m1", "m2", "m3"])
        #expect(world.sleeps.isEmpty)
    }

    @Test func `a full disk closes the stream, says so once, and goes on when there is space`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        hub.streams[0].message(1, id: "e-1")
        await output.wait(forLines: 1)
        try await agent.store.fill()
        hub.streams[0].message(2, id: "e-2", title: String(repeating: "x", count: 100_000))
        await hub.streams[0].disconnected()
        await world.changes.wait { world.sleeps.count >= 5 }
        #expect(world.warnings.count == 1)
        #expect(world.warnings.first?.contains("the disk is full") == true)
        #expect(try await agent.store.record().cursor == "e-1")
        #expect(hub.state.cursors.count == 1)
        try await agent.store.empty()
        hub.streams[1].message(3, id: "e-3")
        await output.wait(forLines: 3)
        try await stage.stop(task)
        #expect(hub.state.cursors == [nil, "e-2"])
        #expect(stage.delivered == ["m1", "m2", "m3"])
        #expect(world.warnings.count == 1)
        #expect(world.notices == ["the inbox can be written again"])
    }

    @Test func `a full inbox stops the reading until the handler has caught up`() async throws {
        let agent = try stage.agent(bounds: .init(unsettled: 4))
        let gate = Gate()
        output.hold(at: gate)
        let task = try stage.start(agent)
        for number in 1...8 { hub.streams[0].message(number, id: "e-\(number)") }
        await hub.streams[0].disconnected()
        #expect(try await agent.store.unsettledCount() == 4)
        gate.open()
        for number in 5...8 {
            hub.streams[1].message(number, id: "e-\(number)")
            await output.wait(forLines: number)
        }
        for number in 9...10 { hub.streams[1].message(number, id: "e-\(number)") }
        await output.wait(forLines: 10)
        try await stage.stop(task)
        #expect(stage.delivered == (1...10).map { "m\($0)" })
    }
}
