import Foundation
import HostSystem
import HubProtocol
import HubTestServer
import Logging
import OutboundHTTP
import Testing

@testable import SubscriberAgent

@Suite(.timeLimit(.minutes(10))) struct ChoiceTests {
    let stage: Stage
    var hub: ScriptedHub { stage.hub }
    var world: FakeWorld { stage.world }

    init() throws { stage = try Stage() }

    @Test func `a choice without a running service is stored and sent`() async throws {
        let agent = try stage.agent()
        let outcome = try await agent.chooseCategories(CategoryChoice(typed: "sports"))
        #expect(outcome == ChoiceOutcome(categories: ["Sports"], isRegistered: true, isListening: true))
        #expect(hub.state.puts.map { $0.tags.map(\.text) } == [["Sports"]])
        #expect(try await agent.store.record().needsRegistration == false)
    }

    @Test func `with a service running the choice is changed and the service goes on`() async throws {
        let service = try stage.agent()
        let task = try stage.start(service)
        hub.streams[0].message(1, id: "e-1")
        await stage.output.wait(forLines: 1)

        let second = try stage.start(try stage.agent(), ["Sports"])
        let ending = try await second.value
        #expect(
            ending == .choiceStored(ChoiceOutcome(categories: ["Sports"], isRegistered: true, isListening: true))
        )
        #expect(ending.exitCode == 0)
        #expect(hub.state.puts.last?.tags.map(\.text) == ["Sports"])

        hub.streams[0].message(2, id: "e-2")
        await stage.output.wait(forLines: 2)
        try await stage.stop(task)
        #expect(hub.state.cursors.count == 1)
        #expect(hub.state.puts.count == 2)
    }

    @Test func `a second subscriber without a choice gives way`() async throws {
        let task = try stage.start(try stage.agent())
        await hub.streams[0].connected()
        let second = try stage.agent()
        let error = await #expect(throws: AgentError.self) { _ = try await stage.start(second, nil).value }
        #expect(error?.exit == .tryLater)
        #expect(error?.description == "another subscriber already listens for profile 'default'")
        try await stage.stop(task)
    }

    @Test func `an unknown category changes nothing`() async throws {
        let agent = try stage.agent()
        _ = try await agent.chooseCategories(CategoryChoice(typed: "World"))
        let error = await #expect(throws: AgentError.self) {
            _ = try await agent.chooseCategories(CategoryChoice(typed: "World,Sprots"))
        }
        #expect(error?.exit == .usage)
        #expect(error?.description == "unknown category 'Sprots', did you mean 'Sports'?")
        #expect(try await agent.choice() == ["World"])
        #expect(hub.state.puts.count == 1)
    }

    @Test func `no categories at all is a registration that broadcasts reach`() async throws {
        let agent = try stage.agent()
        let outcome = try await agent.chooseCategories(CategoryChoice(typed: ""))
        #expect(outcome.categories == [])
        #expect(hub.state.puts.first?.tags.isEmpty == true)
        #expect(hub.state.isInstalled)
    }

    @Test func `with the hub away the choice is stored with a warning, and sent later`() async throws {
        let agent = try stage.agent()
        hub.set { $0.categoryReplies = [.hangUp] }
        let outcome = try await agent.chooseCategories(CategoryChoice(typed: "Wrold"))
        #expect(outcome == ChoiceOutcome(categories: ["Wrold"], isRegistered: false, isListening: true))
        #expect(world.warnings.count == 1)
        #expect(world.warnings.first?.contains("the choice is stored") == true)

        let task = try stage.start(agent, nil)
        await hub.streams[0].connected()
        try await stage.stop(task)
        // Refused only where it is typed; from the disk it is warned of.
        #expect(hub.state.puts.first?.tags.map(\.text) == ["Wrold"])
        #expect(world.warnings.last == "the hub no longer has the category 'Wrold'; no messages will arrive for it")
    }

    @Test func `a running service tells the hub what another process could not`() async throws {
        let service = try stage.agent()
        let task = try stage.start(service)
        await hub.streams[0].connected()
        hub.set { $0.putReplies = [ScriptedHub.error(503, "busy")] }
        let outcome = try await stage.agent().chooseCategories(CategoryChoice(typed: "Sports"))
        #expect(!outcome.isRegistered)
        world.pass(.seconds(15))
        hub.streams[0].heartbeat("e-1")
        await hub.streams[1].connected()
        try await stage.stop(task)
        #expect(hub.state.puts.map { $0.tags.map(\.text) } == [["World"], ["Sports"]])
    }

    @Test func `a choice that is interrupted while it is sent is not kept, and a running service corrects the hub`()
        async throws
    {
        let task = try stage.start(try stage.agent())
        await hub.streams[0].connected()
        let held = Gate()
        // The hub may have taken it: it is the answer that does not come.
        hub.set { $0.putReplies = [.status(200).held(by: held)] }
        let change = try stage.start(try stage.agent(), ["Sports"])
        await hub.wait { $0.putReplies.isEmpty }
        change.cancel()
        _ = await change.result
        held.open()
        #expect(try await stage.agent().choice() == ["World"])
        world.pass(.seconds(15))
        hub.streams[0].heartbeat("e-1")
        await hub.streams[1].connected()
        try await stage.stop(task)
        #expect(hub.state.puts.map { $0.tags.map(\.text) } == [["World"], ["World"]])
    }

    @Test func `a refusal leaves the former choice`() async throws {
        let agent = try stage.agent()
        _ = try await agent.chooseCategories(CategoryChoice(typed: "World"))
        hub.set { $0.putReplies = [ScriptedHub.error(400, "too many")] }
        let error = await #expect(throws: AgentError.self) {
            _ = try await agent.chooseCategories(CategoryChoice(typed: "Sports"))
        }
        #expect(error?.exit == .badConfiguration)
        #expect(try await agent.choice() == ["World"])
    }

    @Test func `what the hub's certificate is checked with is kept beside its connection string, and goes with it`()
        async throws
    {
        let named = stage.scratch.file("named.pem")
        try Data("an authority\n".utf8).write(to: URL(filePath: named))
        let kept = try stage.scratch.stateDirectory().file(SubscriberAgent.authorityName)
        let choice = try CategoryChoice(typed: "World")
        _ = try await stage.agent(trusting: named).chooseCategories(choice)
        #expect(try String(contentsOfFile: kept, encoding: .utf8) == "an authority\n")
        #expect(try HostFile.permissions(kept) == 0o600)
        // The copy itself may be named.
        _ = try await stage.agent(trusting: kept).chooseCategories(choice)
        #expect(try String(contentsOfFile: kept, encoding: .utf8) == "an authority\n")
        _ = try await stage.agent().chooseCategories(choice)
        #expect(!HostFile.exists(kept))
    }

    @Test func `a key that is refused does not replace one that works`() async throws {
        _ = try await stage.agent().chooseCategories(CategoryChoice(typed: "World"))
        let stored = stage.scratch.read(SubscriberAgent.connectionName)
        let other = try ScriptedHub()
        other.set { $0.categoryReplies = [ScriptedHub.error(401, "InvalidSignature: no")] }
        let error = await #expect(throws: AgentError.self) {
            _ = try await stage.agent(hub: other).chooseCategories(CategoryChoice(typed: "Sports"))
        }
        #expect(error?.exit == .badConfiguration)
        #expect(stage.scratch.read(SubscriberAgent.connectionName) == stored)
        #expect(stored.contains("SharedAccessKeyName=Listen;"))
    }

    @Test func `a hub without a list of categories is said and believed`() async throws {
        hub.set { $0.categories = nil }
        let outcome = try await stage.agent().chooseCategories(CategoryChoice(typed: "Gardening"))
        #expect(outcome.isRegistered)
        #expect(world.notices == ["this hub keeps no list of categories, so the names were not checked"])
    }

    @Test func `a retired category is warned of once, also over restarts`() async throws {
        let agent = try stage.agent()
        _ = try await agent.chooseCategories(CategoryChoice(typed: "World,Sports"))
        hub.set { $0.categories = ["World"] }
        for run in 0..<2 {
            let task = try stage.start(agent, nil)
            await hub.streams[run].connected()
            try await stage.stop(task)
        }
        #expect(world.warnings == ["the hub no longer has the category 'Sports'; no messages will arrive for it"])
        #expect(try await agent.choice() == ["World", "Sports"])
    }

    @Test func `unsubscribing removes the installation and the choice`() async throws {
        let agent = try stage.agent()
        _ = try await agent.chooseCategories(CategoryChoice(typed: "World"))
        #expect(try await agent.unsubscribe())
        #expect(hub.state.deletes == 1)
        #expect(try await agent.choice() == nil)
        let request = hub.server.requests.last
        let secret = try await agent.store.record().channel.text
        #expect(request?.header("Newswire-Push-Channel") == secret)
        #expect(try await agent.unsubscribe() == false)
        #expect(hub.state.deletes == 1)
    }

    @Test func `unsubscribing with the hub away changes nothing`() async throws {
        let agent = try stage.agent()
        _ = try await agent.chooseCategories(CategoryChoice(typed: "World"))
        hub.set { $0.deleteReplies = [ScriptedHub.error(503, "busy")] }
        let error = await #expect(throws: AgentError.self) { _ = try await agent.unsubscribe() }
        #expect(error?.exit == .hubUnreachable)
        #expect(try await agent.choice() == ["World"])
    }

    @Test(arguments: ["event: revoked\ndata: {}\n\n", nil])
    func `unsubscribing ends a running service and nothing is put again`(event: String?) async throws {
        let task = try stage.start(try stage.agent())
        await hub.streams[0].connected()
        #expect(try await stage.agent().unsubscribe())
        if let event { hub.streams[0].send(event) } else { hub.streams[0].end() }
        #expect(try await task.value == .unsubscribed)
        #expect(hub.state.puts.count == 1)
        #expect(!hub.state.isInstalled)
    }

    @Test func `a service that outlives its subscription stores no position in the next one, and goes on with that`()
        async throws
    {
        let task = try stage.start(try stage.agent())
        await hub.streams[0].connected()
        let other = try stage.agent()
        #expect(try await other.unsubscribe())
        _ = try await other.chooseCategories(CategoryChoice(typed: "Sports"))
        hub.streams[0].message(1, id: "e-1")
        await stage.output.wait(forLines: 1)
        #expect(try await other.store.record().cursor == nil)
        world.pass(StreamReceiver.cursorInterval)
        hub.streams[0].heartbeat("e-2")
        await hub.streams[1].connected()
        hub.streams[1].message(2, id: "f-1")
        await stage.output.wait(forLines: 2)
        #expect(hub.state.cursors == [nil, nil])
        #expect(try await other.store.record().cursor == "f-1")
        try await stage.stop(task)
    }

    @Test func `categories are listed with the chosen ones marked`() async throws {
        let agent = try stage.agent()
        _ = try await agent.chooseCategories(CategoryChoice(typed: "Sports,World"))
        hub.set { $0.categories = ["World", "Politics"] }
        #expect(
            try await agent.categories() == [
                CategoryListing(name: "World", isChosen: true, isKnown: true),
                CategoryListing(name: "Politics", isChosen: false, isKnown: true),
                CategoryListing(name: "Sports", isChosen: true, isKnown: false),
            ]
        )
    }

    @Test func `without a connection string it says where to get one`() async throws {
        let directory = try stage.scratch.stateDirectory()
        let agent = try SubscriberAgent(
            AgentConfiguration(directory: directory, profile: "home"),
            environment: world.environment,
            http: stage.http,
            logger: Logger(label: "test")
        )
        let error = await #expect(throws: AgentError.self) { _ = try await agent.categories() }
        #expect(error?.exit == .badConfiguration)
        #expect(error?.description == "no connection string for profile 'home'")
        #expect(error?.hint == .noConnectionString)
    }

    @Test func `a full disk can be retried later, and a refused file is bad configuration`() {
        let full = HostError("cannot write", "/x", code: ENOSPC)
        #expect(AgentError(full).exit == .tryLater)
        let refused = HostError("cannot open", "/x", code: EACCES)
        #expect(AgentError(refused).exit == .badConfiguration)
    }

    @Test func `an unusable database is one line`() async throws {
        try Data("this is no database, and long enough to be looked at".utf8).write(
            to: URL(filePath: stage.scratch.file(SubscriberAgent.databaseName))
        )
        let configuration = AgentConfiguration(directory: try stage.scratch.stateDirectory())
        let error = #expect(throws: AgentError.self) {
            _ = try SubscriberAgent(
                configuration,
                environment: world.environment,
                http: stage.http,
                logger: Logger(label: "test")
            )
        }
        #expect(error?.exit == .failed)
        #expect(error?.description.contains(SubscriberAgent.databaseName) == true)
    }
}
