import Foundation
import HubProtocol
import HubRouting
import StreamProbe
import Testing

@testable import HubServer

struct MetricsTests {
    @Test func `what is accepted, repeated, written and refused is counted`() async throws {
        try await TestHub.run(try Scratch(), configure: { $0.version = "1.2.3" }) { hub in
            let (world, sports) = (Agent("a", tags: ["World"]), Agent("b", tags: ["Sports"]))
            for agent in [world, sports] { try await hub.register(agent) }
            let stream = try await hub.stream(world)
            for key in ["1", "2", "2"] {
                #expect(try await hub.post(["title": key], tags: "World", key: key).status == 201)
            }
            #expect(try await hub.post(["title": "x"], tags: "Sports").status == 201)
            #expect(try await hub.send("POST", "messages", as: nil, "{}").status == 401)
            #expect(try await hub.send("GET", "/nothing/there", as: nil).status == 404)
            try await hub.accept("last")
            #expect(try await stream.titles(until: "last") == ["1", "2"])

            var metrics = try await hub.metrics()
            // The progress of the stream may be on its way to the disk.
            for _ in 1...1_000 where metrics["newswire_writer_waiting"] != 0 { metrics = try await hub.metrics() }
            #expect(metrics["newswire_build_info{version=\"1.2.3\"}"] == 1)
            #expect(metrics["newswire_messages_accepted_total{hub=\"news\"}"] == 4)
            #expect(metrics["newswire_messages_owed_total{hub=\"news\",platform=\"stream\"}"] == 5)
            #expect(metrics["newswire_messages_repeated_total{hub=\"news\"}"] == 1)
            #expect(metrics["newswire_messages_written_total{hub=\"news\"}"] == 3)
            #expect(metrics["newswire_installations{hub=\"news\",platform=\"stream\"}"] == 2)
            #expect(metrics["newswire_streams{hub=\"news\"}"] == 1)
            #expect(metrics["newswire_streams_behind{hub=\"news\"}"] == 0)
            #expect(metrics["newswire_writer_healthy"] == 1)
            #expect(metrics["newswire_writer_waiting"] == 0)
            let answered = metrics.filter { $0.key.hasPrefix("newswire_http_responses_total") }
            #expect(answered["newswire_http_responses_total{operation=\"POST /{hub}/messages\",status=\"401\"}"] == 1)
            #expect(
                answered["newswire_http_responses_total{operation=\"\(ResponseCounts.stream)\",status=\"200\"}"] == 1
            )
            #expect(answered["newswire_http_responses_total{operation=\"none\",status=\"404\"}"] == 1)
        }
    }

    @Test func `messages that come from the store are counted as written, and gaps as gaps`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            for title in ["1", "2", "last"] { try await hub.accept(title) }
            _ = try await hub.stream(agent).titles(until: "last")
            #expect(try await hub.metrics()["newswire_messages_written_total{hub=\"news\"}"] == 3)
            _ = try await hub.stream(agent, after: "nonsense").next()
            #expect(try await hub.metrics()["newswire_stream_gaps_total{hub=\"news\"}"] == 1)
        }
    }

    @Test func `the log's size and age are what it holds`() async throws {
        let time = TestTime()
        try await TestHub.run(try Scratch()) { hub in
            #expect(try await hub.metrics()["newswire_log_bytes"] == 0)
            #expect(try await hub.post(["title": "x"], tags: "World").status == 201)
            hub.clock.advance(by: 90)
            let metrics = try await hub.metrics()
            #expect(metrics["newswire_log_bytes"] == Double(#"{"title":"x"}World"#.utf8.count))
            #expect(metrics["newswire_log_oldest_seconds"] == 90)
            #expect((metrics["newswire_database_bytes{file=\"database\"}"] ?? 0) >= 4096)
            try await hub.pass(1, of: time)
            #expect(try await hub.metrics()["newswire_log_bytes"] == Double(#"{"title":"x"}World"#.utf8.count))
        }
    }

    @Test func `a client cannot make metrics of its own`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for name in ["a", "b", "c"] {
                _ = try await hub.send("GET", "/\(name)/\(name)", as: nil)
                _ = try await hub.send(name.uppercased(), "messages", as: nil)
            }
            let names = try await hub.metrics().keys.filter { $0.hasPrefix("newswire_http_responses_total") }
            #expect(names == ["newswire_http_responses_total{operation=\"none\",status=\"404\"}"])
        }
    }
}

extension TestHub {
    /// The page of `/metrics`, each sample by its name and labels.
    func metrics() async throws -> [String: Double] {
        let reply = try await send("GET", "/metrics", as: nil)
        try #require(reply.status == 200)
        #expect(reply.headers["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        var samples: [String: Double] = [:]
        for line in reply.body.split(separator: "\n") where !line.hasPrefix("#") {
            let space = try #require(line.lastIndex(of: " "))
            let value: Double = try #require(Double(String(line[space...].dropFirst())))
            samples[String(line[..<space])] = value
        }
        return samples
    }
}
