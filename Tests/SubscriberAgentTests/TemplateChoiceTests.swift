import Foundation
import GRDB
import HostSystem
import HubProtocol
import HubTestServer
import Testing

@testable import SubscriberAgent

/// An agent in a language, or with a template of its own.
@Suite(.timeLimit(.minutes(10))) struct TemplateChoiceTests {
    let stage: Stage
    var hub: ScriptedHub { stage.hub }

    init() throws { stage = try Stage() }

    private func french() throws -> TemplateChoice { try TemplateChoice(language: "French") }

    private func file(_ text: String) throws -> String {
        let path = stage.scratch.file("template-\(UUID().uuidString).json")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func subscribe(
        _ agent: SubscriberAgent,
        _ categories: [String]?,
        _ template: TemplateChoice?
    ) throws -> Task<SubscribeEnding, any Error> {
        let choice = try categories.map { try CategoryChoice($0) }
        let output = stage.output
        return Task {
            try await agent.subscribe(choosing: choice, template: template, handler: .json, output: output)
        }
    }

    private var registered: [String?] { hub.state.puts.map { $0.templates[AgentTemplate.name]?.body } }

    // MARK: What is typed

    @Test(arguments: ["a b", "fr-FR", "français"])
    func `a language that cannot name a property is refused where it is typed`(text: String) {
        let error = #expect(throws: AgentError.self) { try TemplateChoice(language: text) }
        #expect(error?.exit == .usage)
        #expect(error?.description.contains("'\(text)' must be letters") == true)
    }

    @Test func `nothing typed is the standard template`() throws {
        #expect(try TemplateChoice(language: "") == .standard)
        #expect(try TemplateChoice(file: "") == .standard)
    }

    @Test(arguments: [
        ("", "neither a JSON object nor an XML document"),
        ("<toast>$(News_French)</toast>", "it is XML"),
        (#"{"message":"$(News_French"}"#, "at character"),
        (#"{"message":"$(News_French)""#, "at character"),
        (#"{"message":"News_French"}"#, "names no property"),
        (#"{"message":"$(x)","pad":""# + String(repeating: "x", count: 16_384) + #""}"#, "larger than 16384 bytes"),
    ])
    func `a template that a hub would refuse is refused where it is typed`(text: String, reason: String) throws {
        let path = try file(text)
        let error = #expect(throws: AgentError.self) { try TemplateChoice(file: path) }
        #expect(error?.exit == .usage)
        #expect(error?.description.contains(path) == true)
        #expect(error?.hint == (text.utf8.count > TemplateChoice.maximumBytes ? .templateFile : .template))
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func `a template whose messages cannot be printed is warned of`() throws {
        #expect(try TemplateChoice(file: file(#"{"text":"$(News_French)"}"#)).warning?.contains("(no text)") == true)
        #expect(try TemplateChoice(file: file(#"{"title":"$(News_French)"}"#)).warning == nil)
        #expect(try french().warning == nil)
    }

    @Test func `a template that is not there is named`() {
        let error = #expect(throws: AgentError.self) { try TemplateChoice(file: "/nonexistent/t.json") }
        #expect(error?.exit == .usage)
        #expect(error?.description.contains("/nonexistent/t.json") == true)
    }

    // MARK: What is stored and registered

    @Test func `a language is registered and kept over restarts, until it is given up`() async throws {
        let first = try stage.agent()
        let outcome = try await first.chooseCategories(CategoryChoice(typed: "World"), template: french())
        #expect(outcome.template == .language(try LanguageName("French")))
        #expect(try await first.store.record().needsRegistration == false)
        first.close()

        let second = try stage.agent()
        let task = try subscribe(second, nil, nil)
        await hub.streams[0].connected()
        try await stage.stop(task)
        second.close()

        let third = try stage.agent()
        _ = try await third.chooseCategories(CategoryChoice(typed: "Sports"))
        _ = try await third.chooseCategories(CategoryChoice(typed: "Sports"), template: .standard)
        let body = AgentTemplate.body(in: try LanguageName("French"))
        #expect(registered == [body, body, body, AgentTemplate.body])
        #expect(try await third.template() == .standard)
    }

    @Test func `a template of one's own needs its file once`() async throws {
        let text = #"{"message":"{'Flash : ' + $(News_French)}","link":"$(link)"}"#
        let path = try file(text)
        _ = try await stage.agent().chooseCategories(
            CategoryChoice(typed: "World"),
            template: TemplateChoice(file: path)
        )
        try FileManager.default.removeItem(atPath: path)
        let task = try subscribe(try stage.agent(), nil, nil)
        await hub.streams[0].connected()
        try await stage.stop(task)
        #expect(registered == [text, text])
    }

    @Test func `with a service running the language alone is changed, and the service follows`() async throws {
        let service = try stage.agent()
        let task = try stage.start(service)
        await hub.streams[0].connected()
        let ending = try await subscribe(try stage.agent(), nil, try french()).value
        guard case .choiceStored(let outcome) = ending else {
            Issue.record("\(ending)")
            return
        }
        #expect(outcome.categories == ["World"] && outcome.isListening && outcome.template.note == "in French")
        #expect(hub.state.puts.last?.tags.map(\.text) == ["World"])
        send(1, #"{"title":"","message":"","link":"https://a.example/"}"#, id: "e-1")
        send(2, #"{"title":"Maire","message":"Flash"}"#, id: "e-2")
        await stage.output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(stage.delivered == ["m2"])
        #expect(try await service.inbox(last: 2).map(\.reason) == ["it has no text in French", nil])
    }

    @Test func `a language without categories is refused, and nothing is stored`() async throws {
        let agent = try stage.agent()
        let task = try subscribe(agent, nil, try french())
        let error = await #expect(throws: AgentError.self) { _ = try await task.value }
        #expect(error?.exit == .badConfiguration && error?.hint == .noCategories)
        #expect(try await agent.template() == .standard)
        #expect(hub.state.puts.isEmpty)
    }

    @Test func `a refusal leaves the former template`() async throws {
        let agent = try stage.agent()
        _ = try await agent.chooseCategories(CategoryChoice(typed: "World"), template: french())
        hub.set { $0.putReplies = [ScriptedHub.error(400, "no such thing")] }
        await #expect(throws: AgentError.self) {
            _ = try await agent.chooseCategories(CategoryChoice(typed: "Sports"), template: .standard)
        }
        #expect(try await agent.template() == french())
        #expect(try await agent.choice() == ["World"])
    }

    @Test func `a running service tells the hub the language that another process could not`() async throws {
        let task = try stage.start(try stage.agent())
        await hub.streams[0].connected()
        hub.set { $0.putReplies = [ScriptedHub.error(503, "busy")] }
        let ending = try await subscribe(try stage.agent(), nil, try french()).value
        guard case .choiceStored(let outcome) = ending, !outcome.isRegistered else {
            Issue.record("\(ending)")
            return
        }
        stage.world.pass(.seconds(15))
        hub.streams[0].heartbeat("e-1")
        await hub.streams[1].connected()
        try await stage.stop(task)
        #expect(registered == [AgentTemplate.body, AgentTemplate.body(in: try LanguageName("French"))])
    }

    @Test func `unsubscribing forgets the language`() async throws {
        let agent = try stage.agent()
        _ = try await agent.chooseCategories(CategoryChoice(typed: "World"), template: french())
        #expect(try await agent.unsubscribe())
        #expect(try await agent.template() == .standard)
    }

    // MARK: What is shown

    private func send(_ number: Int, _ body: String, id: String, template: String = AgentTemplate.name) {
        hub.streams[0].send(#"id: \#(id)\#ndata: {"id":"m\#(number)","template":"\#(template)","body":\#(body)}\#n\#n"#)
    }

    @Test func `an event without text is recorded, moves the cursor and reaches no handler`() async throws {
        let agent = try stage.agent()
        let task = try stage.start(agent)
        send(1, #"{"title":"","message":"","link":"https://a.example/fr","category":"World"}"#, id: "e-1")
        send(2, #"{}"#, id: "e-2", template: "")
        send(3, #"{"title":"","message":"x"}"#, id: "e-3")
        await stage.output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(stage.delivered == ["m3"])
        let rows = try await agent.inbox(last: 9)
        #expect(rows.map(\.state) == [.empty, .empty, .done])
        #expect(rows.map(\.attempts) == [0, 0, 1])
        #expect(rows.map(\.reason) == ["it has no text", "it has no text", nil])
        #expect(try await agent.inbox(last: 9, states: [.empty]).map(\.id) == ["m1", "m2"])
        #expect(try await agent.inbox(last: 9, states: [.done]).map(\.id) == ["m3"])
        #expect(try await agent.store.record().cursor == "e-3")
        #expect(try await agent.store.unsettledCount() == 0)
    }

    @Test func `a native message is shown by its own members, whatever the agent's language`() async throws {
        _ = try await stage.agent().chooseCategories(CategoryChoice(typed: "World"), template: french())
        let agent = try stage.agent()
        let task = try stage.start(agent, nil)
        let body =
            #"{"title":"Alarm","message":"Clear the hall","link":"https://a.example/","category":"Site","image":"","secureId":"7"}"#
        send(1, body, id: "e-1", template: "")
        send(2, #"{"link":"https://a.example/"}"#, id: "e-2", template: "")
        send(3, #"{"message":"end"}"#, id: "e-3", template: "")
        await stage.output.wait(forLines: 2)
        try await stage.stop(task)
        let rows = try await agent.inbox(last: 3)
        let content = MessageContent(
            title: "Alarm",
            message: "Clear the hall",
            link: "https://a.example/",
            category: "Site"
        )
        #expect(rows.map(\.content).first == content && rows.first?.body == body)
        #expect(rows.map(\.reason) == [nil, "it has no text", nil], "no template has left it without")
        #expect(stage.output.lines[0].contains("Clear the hall"))
    }

    @Test func `literals of a template alone are not shown`() async throws {
        let path = try file(#"{"message":"{'Flash : ' + $(News_French)}"}"#)
        let agent = try stage.agent()
        let task = try subscribe(agent, ["World"], try TemplateChoice(file: path))
        send(1, #"{"message":"Flash : "}"#, id: "e-1")
        send(2, #"{"message":"Flash : Maire"}"#, id: "e-2")
        await stage.output.wait(forLines: 1)
        try await stage.stop(task)
        #expect(stage.delivered == ["m2"])
        #expect(try await agent.inbox(last: 1, states: [.empty]).first?.reason == "the template leaves it without text")
    }

    @Test func `a translation leads to its own page`() {
        let body = #"{"message":"x","link":"https://a.example/en","localizedLink":"https://a.example/fr"}"#
        #expect(MessageContent(body: body).link == "https://a.example/fr")
        #expect(MessageContent(body: body.replacing("https://a.example/fr", with: "")).link == "https://a.example/en")
    }

    @Test func `a store of before languages keeps its choice and its inbox`() async throws {
        let path = stage.scratch.file("old.sqlite")
        let queue = try DatabaseQueue(path: path)
        try AgentStore.migrator.migrate(queue, upTo: "1 agent and inbox")
        let secret = PushChannelSecret.random().text
        try await queue.write { database in
            try database.execute(
                sql: """
                    INSERT INTO agent (only, installation, channel, categories, registered, plain_http)
                        VALUES (1, 'agent-1', '\(secret)', '["World"]', '["World"]', 1);
                    INSERT INTO mark (ordinal, id, template) VALUES (1, 'm1', 'newswire');
                    INSERT INTO inbox (ordinal, kind, id, template, body, title, message, link, category, received_at, state)
                        VALUES (1, 'message', 'm1', 'newswire', '{}', '', '', '', '', 0, 'pending');
                    """
            )
        }
        try queue.close()
        let store = try AgentStore(path: path)
        let record = try await store.record()
        #expect(record.template == .standard && !record.needsRegistration && record.allowsPlainHTTP)
        #expect(try await store.records(last: 1, states: [.pending]).map(\.id) == ["m1"])
        store.close()
    }
}
