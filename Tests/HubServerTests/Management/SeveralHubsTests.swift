import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import NIOCore
import StreamProbe
import Testing

@testable import HubServer

struct SeveralHubsTests {
    @Test func `two hubs see nothing of each other`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let (one, two) = (try await hub.make("one"), try await hub.make("two"))
            let (first, second) = (Agent("same", tags: ["World"]), Agent("same", tags: ["World"]))
            #expect(try await hub.send("PUT", "installations/same", at: one, first.json).status == 200)
            // Installations.
            #expect(try await hub.send("GET", "installations/same", at: two).status == 404)
            #expect(try await hub.send("PUT", "installations/same", at: two, second.json).status == 200)
            let phone = #"{"installationId":"p","platform":"apns","pushChannel":"ab"}"#
            #expect(try await hub.send("PUT", "installations/p", at: one, phone).status == 200)
            #expect(try await hub.send("GET", "installations/p", at: two).status == 404)
            #expect(
                try await hub.send("GET", "installations/same", at: two, as: two.listen, channel: first.secret).status
                    == 404
            )
            // Messages and streams; the same idempotency key is another one elsewhere.
            let streams = (try await hub.stream(first, at: one), try await hub.stream(second, at: two))
            let replies = [
                try await hub.post("for one", tags: "World", key: "k", at: one),
                try await hub.post("for two", tags: "World", key: "k", at: two),
                try await hub.post("for one", tags: "World", key: "k", at: one),
            ]
            #expect(replies.map(\.status) == [201, 201, 201])
            #expect(replies[0].headers["location"] == replies[2].headers["location"])
            for named in [one, two] { #expect(try await hub.post("last", at: named).status == 201) }
            #expect(try await streams.0.titles(until: "last") == ["for one"])
            #expect(try await streams.1.titles(until: "last") == ["for two"])
            // What became of messages.
            let location = try #require(replies[0].headers["location"])
            let id = try #require(location.split(separator: "?").first?.split(separator: "/").last)
            #expect(try await hub.send("GET", "deliveries/\(id)", at: one).status == 200)
            #expect(try await hub.send("GET", "deliveries/\(id)", at: two).status == 404)
            #expect(!(try await hub.send("GET", "deliveries", at: two).body.contains(id)))
            // Categories.
            let categories = #"{"categories":["Weather"]}"#
            #expect(try await hub.send("PUT", "categories/p", at: one, categories).status == 200)
            #expect(try await hub.send("GET", "categories", at: one).body.contains("Weather"))
            #expect(!(try await hub.send("GET", "categories", at: two).body.contains("Weather")))
            // Counts.
            let query = #"{"tags":"World"}"#
            #expect(try await hub.send("POST", "recipients", at: one, query).body.contains(#""total":1"#))
            // A position of one is not a position of the other's messages.
            let moved = try await hub.stream(second, at: two, after: streams.0.cursor)
            #expect(try await hub.post("after", at: one).status == 201)
            #expect(try await hub.post("now", at: two).status == 201)
            #expect(try await moved.titles(until: "now").contains("after") == false)
            // Deleting in one.
            #expect(try await hub.send("DELETE", "installations/same", at: one).status == 204)
            #expect(try await hub.send("GET", "installations/same", at: two).status == 200)
        }
    }

    @Test func `hubs and what is in them are there after a restart`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a", tags: ["World"])
        let (named, cursor, root) = try await TestHub.run(scratch) { hub in
            let named = try await hub.make("other", "<RegistrationTtl>P90D</RegistrationTtl><Status>false</Status>")
            #expect(try await hub.send("PUT", "installations/a", at: named, agent.json).status == 200)
            let stream = try await hub.stream(agent, at: named)
            #expect(try await hub.post("before", at: named).status == 201)
            #expect(try await stream.message().title == "before")
            #expect(try await hub.post("owed", tags: "World", at: named).status == 201)
            return (named, stream.cursor, hub.root)
        }
        try await TestHub.run(scratch) { hub in
            #expect(hub.root == root)
            #expect(hub.service.directory.all.map(\.hub.record.name.text) == ["news", "other"])
            #expect(try hub.service.directory.hub(named: "OTHER").status.registrationLifetime == .seconds(90 * 86_400))
            let stream = try await hub.stream(agent, at: named, after: cursor)
            #expect(try await hub.post("last", at: named).status == 201)
            #expect(try await stream.titles(until: "last") == ["owed"])
            #expect(try await hub.manage("GET", "/other").body.contains("<Status>false</Status>"))
        }
    }

    @Test func `deleting a hub ends its streams, and one of the same name starts empty`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let old = try await hub.make("other")
            let agents = [Agent("a", tags: ["World"]), Agent("b")]
            for agent in agents {
                #expect(try await hub.send("PUT", "installations/\(agent.id)", at: old, agent.json).status == 200)
            }
            let stream = try await hub.stream(agents[0], at: old)
            #expect(try await hub.post("old", key: "k", at: old).status == 201)
            #expect(try await stream.message().title == "old")
            let poll = Task {
                try await hub.send("GET", "installations/b/pending?wait=60", at: old, channel: agents[1].secret)
            }
            _ = try await poll.value
            let removed = try service(hub, "other")
            #expect(try await hub.manage("DELETE", "/other").status == 200)
            #expect(try await stream.named().name == "revoked")
            #expect(try await stream.next() == nil)
            #expect(removed.isDeleted)
            for path in ["categories", "installations/a", "deliveries"] {
                #expect(try await hub.send("GET", path, at: old).status == 404, "\(path)")
            }
            #expect(try await hub.post("late", at: old).status == 404)
            let refused = await #expect(throws: EventReader.Refused.self) { try await hub.stream(agents[0], at: old) }
            #expect(refused?.reply.status == 404)

            let new = try await hub.make("other")
            #expect(try await hub.post("x", at: old).status == 401, "the keys are others")
            #expect(try await hub.send("GET", "installations/a", at: new).status == 404)
            #expect(try await hub.send("GET", "deliveries", at: new).body == #"{"messages":[]}"#)
            let again = Agent("a", tags: ["World"])
            #expect(try await hub.send("PUT", "installations/a", at: new, again.json).status == 200)
            let fresh = try await hub.stream(again, at: new, after: stream.cursor)
            #expect(try await hub.post("new", key: "k", at: new).status == 201, "the key is a new one")
            #expect(try await fresh.message().title == "new")
        }
    }

    @Test func `whoever holds a deleted hub is refused and writes nothing`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let named = try await hub.make("other")
            let old = try service(hub, "other")
            let member = try hub.service.directory.member(named: "other")
            let agent = Agent("a")
            let grant = Grant(
                rights: .listen,
                credential: Credential(rule: named.listen.name, key: named.listen.primaryKey)
            )
            try await old.installations.put(try agent.installation, bytes: 0, grant: grant, channel: agent.secret)
            #expect(try await hub.manage("DELETE", "/other").status == 200)
            let probe = Probe()
            let session = try await member.loops[0].eventLoop.submit { member.loops[0].open(probe) }.get()
            old.attach(session, try hub.opening(agent, of: old, grant))
            await old.writer.passInOrder()
            try await member.loops[0].eventLoop.submit {}.get()
            #expect(probe.refusal?.status == 404)
            let installation = try Agent("b").installation
            let error = await #expect(throws: ProtocolError.self) {
                try await old.installations.put(installation, bytes: 0, grant: grant, channel: nil)
            }
            #expect(error?.status == 404)
            #expect(throws: ProtocolError.self) { _ = try hub.service.directory.anyLoop(for: old) }
            // One of its name is another one.
            _ = try await hub.make("other")
            #expect(throws: ProtocolError.self) { _ = try hub.service.directory.anyLoop(for: old) }
        }
    }

    @Test func `what a deleted hub had goes bit by bit, also after a restart`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            let named = try await hub.make("other")
            for number in 0..<3 {
                let agent = Agent("a\(number)")
                #expect(try await hub.send("PUT", "installations/a\(number)", at: named, agent.json).status == 200)
                #expect(try await hub.post("t\(number)", key: "k\(number)", at: named).status == 201)
            }
            #expect(try await hub.post(["title": "kept"]).status == 201)
            #expect(try await hub.manage("DELETE", "/other").status == 200)
            try await hub.service.hubPurge.purge()
            #expect(try await hub.hub.store.hubsToPurge().isEmpty)
            // Titles are in the reports: what another hub has stays.
            #expect(try await hub.send("GET", "deliveries", as: hub.full).body.contains("kept"))
            let second = try await hub.make("second")
            #expect(try await hub.post("x", at: second).status == 201)
            // As if the server had been killed between the deletion and the purge.
            let id = try service(hub, "second").record.id
            let deletion: @Sendable (Transaction) throws -> Void = { try $0.deleteHub(id: id, at: 1) }
            let results = try await hub.hub.store.commit([deletion])
            for result in results { try result.get() }
        }
        try await TestHub.run(scratch) { hub in
            #expect(hub.service.directory.all.count == 1)
            try await hub.service.hubPurge.purge()
            #expect(try await hub.hub.store.hubsToPurge().isEmpty)
            #expect(try await hub.hub.store.logSize().bytes == 16, "only the other hub's message counts")
        }
    }

    @Test func `a deleted first hub does not come back on its own`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub async throws in
            #expect(try await hub.manage("DELETE", "/news").status == 200)
            #expect(hub.service.directory.all.isEmpty)
            #expect(try await hub.send("GET", "/readyz", as: nil).status == 200)
        }
        let service = try await HubService(
            HubConfiguration(databasePath: scratch.path, hubName: try HubName("news")),
            logger: .quiet
        )
        #expect(service.directory.all.isEmpty)
        #expect(try service.connectionStrings(endpoint: "http://127.0.0.1/").isEmpty)
        #expect(try service.namespaceConnectionStrings(endpoint: "http://127.0.0.1/").count == 1)
    }

    @Test func `metrics tell of every hub that is there`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let named = try await hub.make("other")
            #expect(try await hub.post("x", at: named).status == 201)
            let page = try await hub.send("GET", "/metrics", as: nil).body
            #expect(page.contains(#"newswire_messages_accepted_total{hub="other"} 1"#))
            #expect(page.contains(#"newswire_streams{hub="other"} 0"#))
            #expect(try await hub.manage("DELETE", "/other").status == 200)
            #expect(!(try await hub.send("GET", "/metrics", as: nil).body.contains(#"hub="other""#)))
        }
    }

    private func service(_ hub: TestHub, _ name: String) throws -> Hub { try hub.service.directory.hub(named: name) }
}
