import Foundation
import HubProtocol
import StreamProbe
import Testing

@testable import HubServer

/// Messages of format `stream`, and direct ones to agents (protocol §11.4).
struct NativeStreamTests {
    private static let body = #"{"title":"x","message":"y","link":"https://x.example/"}"#

    @Test func `a native message goes to streams as it is, whatever their templates`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var bare = Agent("bare", tags: ["World"])
            bare.templates = [:]
            let agents = [Agent("a", tags: ["World"]), bare, Agent("other", tags: ["Sports"])]
            for agent in agents { try await hub.register(agent) }
            try await hub.install("phone", handle: "AA", tags: ["World"])
            let streams = try agents.map { try hub.probe($0) }
            try await hub.settle(streams)
            let id = try await hub.send(format: "Stream", "{\"title\":\n\"x\"}", tags: "World && !Sports")
            try await hub.settle(streams)
            for stream in streams.prefix(2) {
                let event = try #require(stream.probe.messages.first)
                #expect(event.id == id && event.template.isEmpty)
                #expect(event.body == "{\"title\": \"x\"}", "an event is one line")
            }
            #expect(streams[2].probe.messages.isEmpty)
            #expect(try await hub.report(id).matched == ["stream": 2], "a phone has no use for it")
        }
    }

    @Test func `a template's own tag is not a tag of the device`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["World"])
            agent.templates["second"] = InstallationTemplate(body: AgentTemplate.body, tags: [try Tag("Extra")])
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            try await hub.send(format: "stream", Self.body, tags: "Extra")
            try await hub.send(format: "template", #"{"title":"t"}"#, tags: "Extra")
            try await hub.settle([stream])
            #expect(stream.probe.messages.map(\.template) == ["second"])
        }
    }

    @Test func `messages of push platforms are nothing to streams, live and later`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            for format in ["apple", "gcm", "fcmv1", "adm", "browser", "baidu", "xiaomi"] {
                try await hub.send(format: format, "{}", tags: "World")
            }
            try await hub.accept("last", tags: "World")
            let late = try hub.probe(agent, loop: 1)
            try await hub.settle([stream, late])
            #expect(late.probe.titles == ["last"])
            #expect(late.probe.names.isEmpty)
        }
    }

    @Test func `an agent that was away gets native and direct messages when it comes back`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a", tags: ["World"])
        let ids = try await TestHub.run(scratch) { hub in
            try await hub.register(agent)
            try await hub.register(Agent("b", tags: ["World"]))
            return [
                try await hub.send(format: "stream", Self.body, tags: "World"),
                try await hub.send(format: "stream", Self.body, device: agent.secret.text),
                try await hub.send(format: "stream", Self.body, device: "A"),
            ]
        }
        try await TestHub.run(scratch) { hub in
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.messages.map(\.id) == ids)
            #expect(stream.probe.messages.allSatisfy { $0.body == Self.body })
        }
    }

    @Test func `a direct message reaches its agents alone, by secret or by id, each once`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            let agents = ["a", "b", "c"].map { Agent($0, tags: ["World"]) }
            for agent in agents { try await hub.register(agent) }
            let streams = try agents.map { try hub.probe($0) }
            try await hub.settle(streams)
            let devices = try JSONEncoder().encode([agents[0].secret.text, "b", "a", "nobody"])
            let body =
                "--b\r\nContent-Disposition: inline; name=notification\r\n\r\n\(Self.body)\r\n--b\r\n"
                + "Content-Disposition: inline; name=devices\r\n\r\n\(String(decoding: devices, as: UTF8.self))\r\n--b--"
            let headers = [HeaderName.format: "stream", "Content-Type": "multipart/mixed; boundary=b"]
            let id = try await hub.send("POST", "messages/$batch?direct", as: hub.full, headers: headers, body)
                .messageID
            try await hub.settle(streams)
            #expect(streams.map(\.probe.messages.count) == [1, 1, 0])
            let report = try await hub.report(id)
            #expect(report.matched == ["stream": 2] && report.handles == 3)
            #expect(report.outcomes == ["stream": ["Success": 2, "WrongToken": 1]])
            #expect(report.state == .completed)
            let why = try await hub.report(id, "c").device
            #expect(
                why?.outcome == .notMatched && why?.explanation[0].contains("sent directly to other devices") == true
            )
            #expect(try await hub.report(id, "a").device?.outcome == .written)
            // Of an agent's secret the hub keeps only the hash, in its log as well.
            let stored = try Data(contentsOf: URL(filePath: scratch.path + "-wal"))
            #expect(stored.range(of: Data(agents[0].secret.text.utf8)) == nil)
        }
    }

    @Test func `a direct message to a handle that no agent has any more finds no target`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let old = Agent("a")
            try await hub.register(old)
            var renewed = old
            renewed.secret = .random()
            try await hub.register(renewed, as: hub.manageGrant)
            let id = try await hub.send(format: "stream", Self.body, device: old.secret.text)
            let details = try await hub.details(id)
            #expect(details.state == .noTargetFound && details.outcomes == [.stream: [.wrongToken: 1]])
        }
    }
}
