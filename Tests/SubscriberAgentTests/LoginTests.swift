import Foundation
import HostSystem
import HubProtocol
import HubTestServer
import Synchronization
import Testing

@testable import SubscriberAgent

@Suite(.timeLimit(.minutes(10))) struct LoginTests {
    let stage: Stage
    let backend: ScriptedBackend
    var hub: ScriptedHub { stage.hub }
    var world: FakeWorld { stage.world }

    init() throws {
        stage = try Stage()
        backend = try ScriptedBackend(stage.hub)
    }

    @discardableResult
    private func logIn(_ user: String, password: String = ScriptedBackend.password) async throws -> LoginSummary {
        // As another process does it.
        try await stage.agent().logIn(user: user, password: password, at: backend.address, device: "sofa")
    }

    /// The subscriptions that a subscriber has reported.
    private final class Reports: Sendable {
        let list = Mutex<[Subscription]>([])
        let changes = Signal()

        func add(_ subscription: Subscription) {
            list.withLock { $0.append(subscription) }
            changes.notify()
        }

        func wait(for user: String?) async {
            await changes.wait { self.list.withLock { $0.last.map { $0.user == user } ?? false } }
        }
    }

    private func start(_ agent: SubscriberAgent, _ reports: Reports = Reports()) throws -> Task<
        SubscribeEnding, any Error
    > {
        let choice = try CategoryChoice(["World"])
        let output = stage.output
        return Task {
            try await agent.subscribe(
                choosing: choice,
                handler: .json,
                output: output,
                onSubscribed: { reports.add($0) }
            )
        }
    }

    @Test func `a login is kept for this user only, and holds no password`() async throws {
        let login = try await logIn("Alice")
        #expect(login.user == "Alice" && login.isRegistered == nil)
        #expect(backend.state.devices == ["sofa"])
        let file = stage.scratch.file(LoginFile.name)
        let permissions = try HostFile.permissions(file)
        #expect(permissions == 0o600)
        let text = stage.scratch.read(LoginFile.name)
        #expect(text.contains("token-1") && !text.contains(ScriptedBackend.password))
        let stored = try await stage.agent().login()
        #expect(stored?.user == "Alice")
    }

    @Test func `a wrong password changes nothing`() async throws {
        try await logIn("alice")
        let before = stage.scratch.read(LoginFile.name)
        let error = await #expect(throws: AgentError.self) { try await logIn("bob", password: "wrong") }
        #expect(error?.exit == .badConfiguration)
        #expect(error?.description.contains("The name or the password is wrong.") == true)
        #expect(stage.scratch.read(LoginFile.name) == before)
    }

    @Test func `a password is not sent over plain HTTP to another machine`() async throws {
        let address = try BackendAddress(parsing: "http://push.example.org:8788")
        let error = await #expect(throws: AgentError.self) {
            try await stage.agent().logIn(user: "alice", password: "x", at: address, device: "")
        }
        #expect(error?.hint == .plainHTTP)
    }

    @Test func `the app backend of a login without an address is the hub's own, then that of the last login`()
        async throws
    {
        #expect(try await stage.agent().standardBackend().url == hub.server.baseURL)
        try await logIn("alice")
        #expect(try await stage.agent().standardBackend().url == backend.server.baseURL)
    }

    @Test func `a logged-in agent registers through the app backend and not at the hub`() async throws {
        try await logIn("Alice")
        let reports = Reports()
        let task = try start(try stage.agent(), reports)
        await reports.wait(for: "alice")
        hub.streams[0].message(1, id: "e-1")
        await stage.output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(backend.state.puts == [ScriptedBackend.Put(user: "alice", tags: ["World"])])
        #expect(hub.state.puts.isEmpty && hub.state.deletes == 0)
        let subscriptions = reports.list.withLock { $0 }
        #expect(subscriptions == [Subscription(categories: ["World"], template: .standard, user: "alice")])
        #expect(world.warnings.isEmpty)
    }

    @Test func `a login while it listens registers at once`() async throws {
        let agent = try stage.agent()
        let reports = Reports()
        let task = try start(agent, reports)
        await reports.wait(for: nil)
        let login = try await logIn("alice")
        #expect(login.isRegistered == true)
        #expect(backend.state.puts.map(\.user) == ["alice"])
        #expect(hub.state.deletes == 0, "nobody had the agent before")
        #expect(try await agent.store.record().taggedUser == "alice")
        try await stage.stop(task)
    }

    @Test func `an app backend that is away costs no news, and is called again later`() async throws {
        try await logIn("alice")
        backend.set { $0.isDown = true }
        let reports = Reports()
        let task = try start(try stage.agent(), reports)
        hub.streams[0].message(1, id: "e-1")
        await stage.output.wait(forLines: 1)
        #expect(hub.state.puts.map { $0.tags.map(\.text) } == [["World"]])
        #expect(world.warnings.count == 1 && world.warnings[0].hasPrefix("the app backend is not available"))
        world.pass(.seconds(700))
        hub.streams[0].message(2, id: "e-2")
        await stage.output.wait(forLines: 2)
        backend.set { $0.isDown = false }
        world.pass(.seconds(700))
        hub.streams[0].heartbeat("e-3")
        await reports.wait(for: "alice")
        #expect(hub.state.puts.count == 1 && hub.state.cursors.count == 1, "the stream stays open")
        #expect(world.warnings.count == 1)
        #expect(world.notices == ["the app backend is available again"])
        try await stage.stop(task)
    }

    @Test func `a revoked token is reported once, and a new login ends it`() async throws {
        try await logIn("alice")
        backend.set { $0.tokens = [:] }
        let agent = try stage.agent()
        let task = try start(agent)
        hub.streams[0].message(1, id: "e-1")
        await stage.output.wait(forLines: 1)
        for number in 2...4 {
            world.pass(.seconds(700))
            hub.streams[0].message(number, id: "e-\(number)")
        }
        await stage.output.wait(forLines: 4)
        #expect(world.warnings == ["the login of 'alice' is no longer valid; news of the categories continues"])
        #expect(world.hints == [.logIn])
        #expect(hub.state.puts.count == 1)
        let login = try await logIn("alice")
        #expect(login.isRegistered == true)
        #expect(backend.state.puts.map(\.user) == ["alice"])
        try await stage.stop(task)
    }

    @Test func `a revoked token does not take the user's tag away`() async throws {
        try await logIn("alice")
        try await stage.stop(try await listening(as: "alice"))
        backend.set { $0.tokens = [:] }
        let agent = try stage.agent()
        let task = try start(agent)
        hub.streams[1].message(1, id: "e-1")
        await stage.output.wait(forLines: 1)
        #expect(hub.state.deletes == 0)
        #expect(try await agent.store.record().taggedUser == "alice")
        try await stage.stop(task)
    }

    private func listening(as user: String) async throws -> Task<SubscribeEnding, any Error> {
        let reports = Reports()
        let task = try start(try stage.agent(), reports)
        await reports.wait(for: user)
        return task
    }

    @Test func `another user's login removes what the hub has for the former one`() async throws {
        try await logIn("alice")
        let task = try await listening(as: "alice")
        let login = try await logIn("bob")
        #expect(login.isRegistered == true)
        #expect(hub.state.deletes == 1)
        #expect(backend.state.puts.map(\.user) == ["alice", "bob"])
        #expect(Array(backend.state.tokens.values) == ["bob"], "the former token is revoked")
        // The hub ends the stream of an installation that is removed.
        hub.streams[0].send(ServerSentEventText.revoked)
        await hub.streams[1].connected()
        #expect(world.notices.isEmpty)
        try await stage.stop(task)
    }

    @Test func `a logout revokes the token and leaves the user, with or without a subscriber that listens`()
        async throws
    {
        try await logIn("alice")
        try await stage.stop(try await listening(as: "alice"))
        let agent = try stage.agent()
        let former = try await agent.logOut()
        #expect(former?.user == "alice")
        #expect(backend.state.tokens.isEmpty && backend.state.deletes == ["alice"])
        #expect(hub.state.deletes == 1 && hub.state.puts.map { $0.tags.map(\.text) } == [["World"]])
        #expect(!HostFile.exists(stage.scratch.file(LoginFile.name)))
        let record = try await agent.store.record()
        #expect(record.taggedUser == nil && record.registered == ["World"] && record.cursor == nil)
        #expect(world.warnings.isEmpty)
        let again = try await agent.logOut()
        #expect(again == nil)
    }

    @Test func `a logout without the app backend deletes the token here, and says how long it is valid`() async throws {
        try await logIn("alice")
        try await stage.stop(try await listening(as: "alice"))
        backend.set { $0.isDown = true }
        let former = try await stage.agent().logOut()
        #expect(former?.user == "alice")
        #expect(!HostFile.exists(stage.scratch.file(LoginFile.name)))
        #expect(world.warnings.count == 1 && world.warnings[0].contains("valid until 2030-01-01T00:00:00Z"))
        #expect(world.hints == [.revokeToken(user: "alice")])
        #expect(hub.state.deletes == 1, "the hub removes the tag all the same")
    }

    @Test func `a logout with a damaged login leaves the user, and says that the token is still valid`() async throws {
        try await logIn("alice")
        try await stage.stop(try await listening(as: "alice"))
        try "{".write(toFile: stage.scratch.file(LoginFile.name), atomically: true, encoding: .utf8)
        let agent = try stage.agent()
        let ended = try await agent.logOut()
        #expect(ended == EndedLogin(user: "alice"))
        #expect(!HostFile.exists(stage.scratch.file(LoginFile.name)))
        #expect(hub.state.deletes == 1 && hub.state.puts.map { $0.tags.map(\.text) } == [["World"]])
        let record = try await agent.store.record()
        #expect(record.taggedUser == nil && record.registered == ["World"])
        #expect(world.warnings.count == 1 && world.warnings[0].contains("its token is valid at the app backend"))
        #expect(world.hints == [.revokeToken(user: "alice")])
        #expect(backend.state.tokens.count == 1)
    }

    @Test func `a logout without the hub is made good before the next stream opens`() async throws {
        try await logIn("alice")
        try await stage.stop(try await listening(as: "alice"))
        hub.set { $0.deleteReplies = [ScriptedHub.error(503, "busy")] }
        _ = try await stage.agent().logOut()
        #expect(world.warnings.contains { $0.contains("still has this agent as a device of 'alice'") })
        #expect(hub.state.deletes == 0)
        let reports = Reports()
        let task = try start(try stage.agent(), reports)
        await reports.wait(for: nil)
        #expect(hub.state.deletes == 1 && hub.state.cursors.count == 2)
        try await stage.stop(task)
    }

    @Test func `a login file that cannot be read is not a logout`() async throws {
        try await logIn("alice")
        try await stage.stop(try await listening(as: "alice"))
        try "{".write(toFile: stage.scratch.file(LoginFile.name), atomically: true, encoding: .utf8)
        let task = try start(try stage.agent())
        hub.streams[1].message(1, id: "e-1")
        await stage.output.wait(forLines: 1)
        #expect(hub.state.deletes == 0)
        #expect(world.warnings.count == 1 && world.warnings[0].contains("is not a login"))
        try await stage.stop(task)
    }

    @Test func `a kill while the app backend is called leaves no tag behind`() async throws {
        try await logIn("alice")
        let agent = try stage.agent()
        // The mark is there before the call, whatever becomes of it.
        backend.set { $0.replies = [.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut")] }
        let task = try start(agent)
        await hub.streams[0].connected()
        try await stage.stop(task)
        #expect(try await agent.store.record().taggedUser == "alice")
        #expect(try await agent.store.record().registeredUser == nil)
        _ = try await stage.agent().logOut()
        #expect(hub.state.deletes == 1)
    }

    @Test func `an agent that gives up its subscription is not a device of the user any more`() async throws {
        try await logIn("alice")
        try await stage.stop(try await listening(as: "alice"))
        let agent = try stage.agent()
        #expect(try await agent.unsubscribe())
        #expect(backend.state.deletes == ["alice"] && hub.state.deletes == 1)
        #expect(try await agent.store.record().taggedUser == nil)
    }
}

private enum ServerSentEventText {
    static let revoked = "event: \(StreamEventName.revoked)\ndata: {}\n\n"
}
