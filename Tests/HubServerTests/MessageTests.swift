import Foundation
import HubProtocol
import HubRouting
import StreamProbe
import Testing

@testable import HubServer

struct MessageTests {
    @Test func `a message reaches the agents that chose its category, and no other`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let (world, sports) = (Agent("a", tags: ["World"]), Agent("b", tags: ["Sports"]))
            #expect(try await hub.put(world).status == 200)
            #expect(try await hub.put(sports).status == 200)
            let (first, second) = (try await hub.stream(world), try await hub.stream(sports))
            let sent = try await hub.post(["title": "one"], tags: "World")
            #expect(sent.status == 201)
            #expect(try await hub.post(["title": "last"]).status == 201)
            let event = try await first.message()
            #expect(event.title == "one")
            #expect(event.template == AgentTemplate.name)
            #expect(sent.headers["location"] == "https://h/news/messages/\(event.id)")
            #expect(try await first.titles(until: "last") == [])
            #expect(try await second.titles(until: "last") == [])
        }
    }

    // MARK: - Idempotency

    @Test func `a repeat is answered as the first was and delivers nothing`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let first = try await hub.post(["title": "x"], tags: "World", key: "k")
            let again = try await hub.post(["title": "x"], tags: "World", key: "k")
            #expect(first.status == 201 && again.status == 201)
            #expect(first.headers["location"] == again.headers["location"])
            let other = try await hub.post(["title": "x"], tags: "World", key: "K")
            #expect(other.headers["location"] != first.headers["location"], "keys are compared as they are")
            try await hub.accept("last")
            #expect(try await hub.stream(agent).titles(until: "last") == ["x", "x"])
        }
    }

    @Test func `repeats in flight are one message`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let ids = try await withThrowingTaskGroup(of: MessageID.self) { group in
                for _ in 0..<20 { group.addTask { try await hub.accept("x", key: "k") } }
                return try await group.reduce(into: Set<MessageID>()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            try await hub.accept("last")
            #expect(try await hub.stream(agent).titles(until: "last") == ["x"])
        }
    }

    @Test func `one key for other content is refused, and the refused message is not there`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            #expect(try await hub.post(["title": "x"], tags: "World", key: "k").status == 201)
            let body = try await hub.post(["title": "y"], tags: "World", key: "k")
            #expect(body.status == 422)
            #expect(body.error?.code == ProtocolError.Code.unprocessable)
            #expect(try await hub.post(["title": "x"], key: "k").status == 422)
            #expect(try await hub.post(["title": "x"], tags: "World || Sports", key: "k").status == 422)
            try await hub.accept("last")
            #expect(try await hub.stream(agent).titles(until: "last") == ["x"])
        }
    }

    @Test func `a key holds over a restart and ends after seven days`() async throws {
        let scratch = try Scratch()
        let clock = TestClock()
        let first = try await TestHub.run(scratch, clock: clock) { try await $0.accept("x", key: "k") }
        try await TestHub.run(scratch, clock: clock) { hub in
            let time = TestTime()
            #expect(try await hub.accept("x", key: "k") == first)
            try await hub.pass(7 * 86_400 - 10, of: time)
            #expect(try await hub.accept("x", key: "k") == first)
            try await hub.pass(20, of: time)
            #expect(try await hub.accept("x", key: "k") != first)
        }
    }

    // MARK: - Recipients and categories

    @Test func `recipients are counted by platform without a send`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register(Agent("a", tags: ["World"]))
            try await hub.register(Agent("b", tags: ["World", "Sports"]))
            let phone =
                #"{"installationId":"p","platform":"apns","pushChannel":"aa11","tags":["World"],"#
                + #""templates":{"t":{"body":"{\"aps\":{\"alert\":\"$(title)\"}}"}}}"#
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            let head = hub.head
            let counts = try await hub.send("POST", "recipients", as: hub.full, #"{"tags":"World && !Sports"}"#)
            #expect(counts.body == #"{"platforms":{"apns":1,"stream":1},"total":2}"#)
            #expect(
                try await hub.send("POST", "recipients", as: hub.full, #"{"tags":""}"#).body.contains(#""total":3"#)
            )
            #expect(hub.head == head)
        }
    }

    @Test func `the hub lists the standard categories and each announced one once`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            func announce(_ publisher: String, _ names: String) async throws -> Int {
                try await hub.send("PUT", "categories/\(publisher)", as: hub.full, #"{"categories":[\#(names)]}"#)
                    .status
            }
            #expect(try await announce("two", #""weather","WORLD","Traffic""#) == 200)
            #expect(try await announce("one", #""Weather""#) == 200)
            let list = try await hub.send("GET", "categories", as: hub.listen)
            let names = CategoryList.standard + ["Weather", "Traffic"]
            #expect(try JSONDecoder().decode(CategoryList.self, from: Data(list.body.utf8)).categories == names)
            #expect(try await announce("two", "") == 200)
            #expect(try await !hub.send("GET", "categories", as: hub.listen).body.contains("Traffic"))
            #expect(try await announce("two", #""not a tag""#) == 400)
            #expect(try await announce(String(repeating: "p", count: 121), "") == 400)
        }
    }
}
