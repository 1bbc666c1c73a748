import Foundation
import HubProtocol
import HubRouting
import HubStore
import StreamProbe
import Testing

@testable import HubServer
@testable import HubStreams

/// Templates of holders of Listen that make much of little.
struct RenderingTests {
    /// Most terms of an expression.
    private static let maximumTerms = 100

    /// Renders as so many copies of a push variable of 1,000 bytes.
    private static func heavy(_ id: String, copies: Int) -> Agent {
        var agent = Agent(id, tags: ["World"])
        agent.variables = ["v": String(repeating: "x", count: 1_000)]
        let terms = Array(repeating: "$(v)", count: maximumTerms).joined(separator: "+")
        let members = (0..<(copies / maximumTerms)).map { #""m\#($0)":"{\#(terms)}""# }
        agent.templates["heavy"] = InstallationTemplate(
            body: #"{"title":"$(title)","id":"\#(id)",\#(members.joined(separator: ","))}"#
        )
        agent.templates[AgentTemplate.name] = nil
        return agent
    }

    @Test func `a rendering that is too large is a gap for its device alone`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let (light, hostile) = (Agent("light", tags: ["World"]), Self.heavy("hostile", copies: 4_000))
            #expect(try hostile.installation.encodedJSON(as: .request).utf8.count < Installation.maximumBytes)
            for agent in [light, hostile] { #expect(try await hub.put(agent).status == 200) }
            let (one, other) = (try await hub.stream(light), try await hub.stream(hostile))
            try await hub.accept("first", tags: "World")
            #expect(try await one.message().title == "first")
            let gap = try await other.named()
            #expect(gap.name == StreamEventName.gap && gap.data.contains("256 KiB"), "\(gap)")
            try await hub.accept("second", tags: "World")
            #expect(try await one.message().title == "second")
            #expect(try await other.named().name == StreamEventName.gap)
            #expect(hub.hub.counters.streams.oversize.count >= 2)
        }
    }

    @Test func `devices beyond what one message may cost get it from the store, each once and in order`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let copies = 200
            let count = 2 * StreamLimits().heavyBytes / (copies * 1_000)
            let agents = (0..<count).map { Self.heavy("h\($0)", copies: copies) }
            let light = Agent("light", tags: ["World"])
            for agent in agents + [light] { try await hub.register(agent) }
            #expect(try Recipient(agents[0].installation).isHeavy && !Recipient(light.installation).isHeavy)
            let first = try await hub.stream(light)
            var streams: [EventReader] = []
            for agent in agents { streams.append(try await hub.stream(agent)) }
            for title in ["first", "second"] { try await hub.accept(title, tags: "World") }
            // A message to one of them by name takes the other way.
            try await hub.accept("named", tags: "World && !$InstallationId:{nobody}")
            try await hub.accept("last", tags: "World && !$InstallationId:{nobody}")
            #expect(try await first.titles(until: "last") == ["first", "second", "named"])
            for (number, stream) in streams.enumerated() {
                let titles = try await stream.titles(until: "last")
                #expect(titles == ["first", "second", "named"], "stream \(number)")
            }
            // A poll has the same messages.
            let poll = try await hub.send(
                "GET",
                "installations/\(agents[0].id)/pending?wait=1",
                as: hub.listen,
                channel: agents[0].secret
            )
            #expect(poll.status == 200 && poll.body.contains("first"), "\(poll.body.prefix(200))")
        }
    }

    @Test func `clients with heavy templates that do not read hold up nobody else`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let count = 2 * HeavyTurns.maximum + 8
            let agents = (0..<count).map { Self.heavy("h\($0)", copies: 200) }
            let light = Agent("light", tags: ["World"])
            for agent in agents + [light] { try await hub.register(agent) }
            try await hub.accept("missed", tags: "World")
            var idle: [Connection] = []
            for agent in agents {
                let connection = try await Connection.open(hub.port, reads: false)
                let path = "installations/\(agent.id)/stream"
                let start = ["Last-Event-ID": hub.hub.encoding.position(0)]
                try await connection.send(
                    hub.request("GET", path, as: hub.listen, channel: agent.secret, headers: start)
                )
                idle.append(connection)
            }
            let stream = try await hub.stream(light)
            #expect(try await stream.message().title == "missed")
            try await hub.accept("live", tags: "World")
            #expect(try await stream.message().title == "live")
            for connection in idle { try await connection.close() }
        }
    }
}
