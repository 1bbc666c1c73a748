import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import NIOCore
import ServerSentEvents
import StreamProbe
import Synchronization
import Testing

@testable import HubServer

struct StreamTests {
    @Test func `a stream begins with its head and the time to wait before coming back`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try await hub.stream(agent)
            let head = stream.head.headers
            #expect(head["content-type"] == "text/event-stream")
            #expect(head["cache-control"] == "no-store")
            #expect(head["x-accel-buffering"] == "no")
            #expect(try await stream.next() == ServerSentEvent(retry: 2_000))
            let beginning = try #require(try await stream.next())
            #expect(beginning.data == nil && beginning.event == nil)
            #expect(beginning.id.flatMap { StreamPosition(parsing: $0) }?.sequence == hub.head)
            try await hub.accept("x")
            let event = try #require(try await stream.next())
            let position = try #require(event.id.flatMap { StreamPosition(parsing: $0) })
            #expect(position.sequence == hub.head)
            #expect(position.epoch == hub.hub.epochs.current)
        }
    }

    @Test func `a stream as the second request of its connection is the same`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            try await hub.accept("before", tags: "World")
            let connection = try await Connection.open(hub.port)
            try await connection.send(hub.request("GET", "categories", as: hub.listen))
            let path = "installations/a/stream"
            try await connection.send(hub.request("GET", path, as: hub.listen, channel: agent.secret))
            let stream = try await EventReader(connection, after: 1)
            #expect(stream.head.isChunked)
            #expect(try await stream.next() == ServerSentEvent(retry: 2_000))
            try await hub.accept("live", tags: "World")
            try await hub.accept("last")
            #expect(try await stream.titles(until: "last") == ["before", "live"])
            let next = try await hub.stream(agent)
            #expect(try await stream.named().name == "replaced")
            #expect(try await stream.next() == nil)
            #expect(try await next.titles(until: "last") == ["before", "live"])
        }
    }

    @Test func `a poll gives the pending messages, or the position, once`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            func poll(_ cursor: String?, wait: Int = 0) async throws -> [ServerSentEvent] {
                let reply = try await hub.send(
                    "GET",
                    "installations/a/pending?wait=\(wait)",
                    as: hub.listen,
                    channel: agent.secret,
                    headers: cursor.map { [HeaderName.lastEventID: $0] } ?? [:]
                )
                #expect(reply.status == 200)
                #expect(reply.headers["content-type"] == "text/event-stream")
                var decoder = ServerSentEventDecoder()
                return try decoder.decode(reply.body.utf8)
            }
            let nothing = try await poll(nil)
            #expect(nothing.map(\.data) == [nil])
            let cursor = try #require(nothing.first?.id)
            for title in ["a", "b"] { try await hub.accept(title) }
            let two = try await poll(cursor)
            #expect(try two.map { try StreamEvent(parsing: $0.data ?? "").title } == ["a", "b"])
            let position = try await poll(two.last?.id)
            #expect(position.map(\.id) == [two.last?.id])
            // One that waits is answered by the next message.
            async let waiting = poll(two.last?.id, wait: 60)
            try await hub.wait { hub.streamCount > 0 }
            try await hub.accept("c")
            #expect(try await waiting.count == 1)
            #expect(try await poll("nonsense-1").first?.event == "gap")
        }
    }

    @Test(arguments: [false, true])
    func `a stream ends without a word when its token expires, and goes on with another`(isSecond: Bool) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            func open(_ cursor: String?) async throws -> EventReader {
                let connection = try await Connection.open(hub.port)
                if isSecond { try await connection.send(hub.request("GET", "categories", as: hub.listen)) }
                var headers = ["Authorization": hub.token(hub.listen, expiresIn: 600)]
                headers[HeaderName.lastEventID] = cursor
                let path = "installations/a/stream"
                try await connection.send(
                    hub.request("GET", path, as: nil, channel: agent.secret, headers: headers)
                )
                return try await EventReader(connection, after: isSecond ? 1 : 0)
            }
            let first = try await open(nil)
            try await hub.accept("one")
            #expect(try await first.message().title == "one")
            hub.clock.advance(by: 600)
            var names: [String] = []
            while let event = try await first.next() { if let name = event.event { names.append(name) } }
            #expect(names == [])
            try await hub.accept("two")
            let second = try await open(first.cursor)
            #expect(try await second.message().title == "two")
        }
    }

    @Test func `a second stream ends the first with replaced`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let first = try await hub.stream(agent)
            let second = try await hub.stream(agent)
            #expect(try await first.named().name == "replaced")
            #expect(try await first.next() == nil)
            try await hub.accept("x")
            #expect(try await second.message().title == "x")
            #expect(hub.streamCount == 1)
        }
    }

    @Test(arguments: ["rotate", "delete", "secret", "platform"])
    func `a stream is revoked with its key, installation or secret`(how: String) async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try await hub.stream(agent)
            switch how {
            case "rotate":
                // Another process, another connection; the second time ends the key that the stream came with.
                let keys = try await HubKeys(databasePath: scratch.path)
                _ = try await keys.rotate(hub.listen.name, of: .hub(hub.hub.record.name), at: 1)
                try await hub.service.housekeeping.lookAtRules()
                try await hub.accept("still here")
                #expect(try await stream.message().title == "still here")
                _ = try await keys.rotate(hub.listen.name, of: .hub(hub.hub.record.name), at: 1)
            case "delete":
                let reply = try await hub.send("DELETE", "installations/a", as: hub.listen, channel: agent.secret)
                #expect(reply.status == 204)
            case "secret":
                var other = agent
                other.secret = .random()
                let reply = try await hub.send(
                    "PUT",
                    "installations/a",
                    as: hub.listen,
                    channel: agent.secret,
                    other.json
                )
                #expect(reply.status == 200)
            default:
                let body = #"{"installationId":"a","platform":"apns","pushChannel":"aa11"}"#
                let reply = try await hub.send("PUT", "installations/a", as: hub.listen, channel: agent.secret, body)
                #expect(reply.status == 200)
            }
            #expect(try await stream.named().name == "revoked")
            #expect(try await stream.next() == nil)
            let refused = await #expect(throws: EventReader.Refused.self) { _ = try await hub.stream(agent) }
            #expect(refused?.reply.status == (how == "rotate" ? 401 : 404))
        }
    }

    @Test func `a stop ends streams first, and what they were written is kept`() async throws {
        let scratch = try Scratch()
        let (streams, head) = try await TestHub.run(scratch) { hub in
            var streams: [EventReader] = []
            for number in 0..<20 {
                let agent = Agent("a\(number)")
                try await hub.register(agent)
                streams.append(try await hub.stream(agent))
            }
            let sequence = hub.head.next
            try await hub.accept("last")
            for stream in streams { #expect(try await stream.titles(until: "last") == []) }
            return (streams, sequence)
        }
        for stream in streams { #expect(try await stream.next() == nil) }
        let store = try HubStore(path: scratch.path)
        for number in 1...20 as ClosedRange<Int64> {
            let progress = try #require(try await store.progress(ordinal: Ordinal(rawValue: number)))
            #expect(progress.written == head)
            #expect(progress.connectedAt != nil && progress.disconnectedAt != nil)
        }
    }

    // MARK: - What goes out, and in which order

    @Test func `what waits for a stream goes out in one write, in the order of the log, whoever it names`() async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let stream = try hub.probe(agent, taking: false)
            try await hub.accept("first", tags: "World")
            try await hub.settle([stream])
            let writes = stream.probe.writes
            let titles = (0..<12).map { "m\($0)" }
            for (index, title) in titles.enumerated() {
                let tags = ["World", "$InstallationId:{a}", nil][index % 3]
                try await hub.accept(title, tags: tags)
            }
            try await hub.settle([stream])
            stream.take(true)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["first"] + titles)
            #expect(stream.probe.writes == writes + 1 || stream.probe.writes == writes + 2)
            #expect(stream.probe.cursor.flatMap { StreamPosition(parsing: $0) }?.sequence == hub.head)
        }
    }

    @Test(arguments: [nil, "$InstallationId:{slow}"])
    func `a slow reader is served from the store beyond what waits in memory`(tags: String?) async throws {
        let small = { (configuration: inout HubConfiguration) in
            configuration.streamLimits.cohortBytes = 30_000
            configuration.streamLimits.personalBytes = 30_000
        }
        try await TestHub.run(try Scratch(), configure: small) { hub in
            let (slow, quick) = (Agent("slow"), Agent("quick"))
            try await hub.register(slow)
            try await hub.register(quick)
            let stream = try hub.probe(slow)
            let other = try hub.probe(quick, loop: 0)
            try await hub.accept("first")
            try await hub.settle([stream, other])
            stream.probe.take(false)
            try await hub.accept("taken")
            let long = String(repeating: "x", count: 2_000)
            let titles = (0..<60).map { "m\($0)" }
            for title in titles { try await hub.accept(title, tags: tags, message: long) }
            try await hub.settle([stream, other])
            #expect(stream.probe.titles == ["first", "taken"])
            stream.take(true)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["first", "taken"] + titles)
            #expect(stream.probe.names == [], "nothing is lost, so there is no gap")
            #expect(other.probe.titles == (tags == nil ? stream.probe.titles : ["first", "taken"]))
        }
    }

    @Test func `of the events of one message only the last bears its position`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["World"])
            agent.templates["b"] = InstallationTemplate(body: #"{"title":"{$(title) + '!'}"}"#)
            agent.templates["only sports"] = InstallationTemplate(body: #"{"title":"s"}"#, tags: [try Tag("Sports")])
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            try await hub.accept("x", tags: "World")
            try await hub.accept("y", tags: "Sports")
            try await hub.settle([stream])
            let replay = try hub.probe(agent)
            try await hub.settle([replay])
            for probe in [stream.probe, replay.probe] {
                #expect(probe.messages.map(\.template) == ["b", "newswire", "only sports", "only sports"])
                #expect(probe.titles == ["x!", "x", "s", "s"])
                let messages = probe.events.filter { $0.data != nil && $0.event == nil }
                #expect(messages.map { $0.id != nil } == [false, false, true, true])
            }
        }
    }

    @Test(arguments: [nil, "$InstallationId:{a}"])
    func `a message that grew too large is a gap in its place, live and replayed`(tags: String?) async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a")
            for name in ["huge", "too"] { agent.templates[name] = try .huge(tags: []) }
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            for title in ["1", "2"] { try await hub.accept(title, tags: tags) }
            let huge = hub.head.next
            try await hub.accept("huge", tags: tags, message: String(repeating: "x", count: 20_000))
            try await hub.accept("3", tags: tags)
            try await hub.settle([stream])
            let replay = try hub.probe(agent)
            try await hub.settle([replay])
            for probe in [stream.probe, replay.probe] {
                #expect(probe.messages.filter { $0.template == AgentTemplate.name }.map(\.title) == ["1", "2", "3"])
                let events = probe.events.filter { $0.data != nil && $0.event != StreamEventName.replaced }
                #expect(events.map(\.event) == [nil, nil, nil, nil, nil, nil, "gap", nil, nil, nil])
                let data = try #require(events.count > 6 ? events[6].data : nil)
                let gap = try JSONDecoder().decode(StreamGap.self, from: Data(data.utf8))
                let epoch = hub.hub.epochs.current
                #expect(gap.after == StreamPosition(epoch: epoch, sequence: huge.previous).text)
                #expect(gap.resumesAt == huge.next)
                #expect(events[6].id == StreamPosition(epoch: epoch, sequence: huge).text)
                #expect(gap.reason.contains("256 KiB"))
            }
            #expect(hub.hub.counters.streams.gaps.count == 2)
            #expect(hub.hub.counters.streams.oversize.count == 2)
            #expect(hub.hub.counters.streams.written.count == 6)
        }
    }

    @Test func `an agent's push variables never show in another one's message`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let body = #"{"title":"{$(title) + ' for ' + $(name)}"}"#
            var agents: [Agent] = []
            for name in ["Ann", "Bob"] {
                var agent = Agent(name)
                agent.templates = ["t": InstallationTemplate(body: body)]
                agent.variables = ["Name": name, "unused": name]
                try await hub.register(agent)
                agents.append(agent)
            }
            let streams = try agents.map { try hub.probe($0) }
            try await hub.accept("x")
            try await hub.settle(streams)
            #expect(streams.map(\.probe.titles) == [["x for Ann"], ["x for Bob"]])
        }
    }

    // MARK: - What is owed

    @Test func `choosing a category brings no old news, and dropping one does not take back pending news`()
        async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            stream.disconnect()
            for name in ["World", "Sports"] { try await hub.accept("old \(name)", tags: name) }
            agent.tags = ["Sports"]
            try await hub.register(agent)
            for name in ["World", "Sports"] { try await hub.accept("new \(name)", tags: name) }
            let again = try hub.probe(agent, after: stream.probe.cursor)
            try await hub.settle([again])
            #expect(again.probe.titles == ["old World", "new Sports"])
        }
    }

    @Test func `removing an installation ends its pending messages, also for the next one of its id`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            try await hub.accept("seen", tags: "World")
            try await hub.settle([stream])
            stream.disconnect()
            try await hub.accept("owed", tags: "World")
            try await hub.hub.installations.delete(InstallationID("a"), grant: hub.listenGrant, channel: agent.secret)
            try await hub.register(agent)
            try await hub.accept("new", tags: "World")
            for cursor in [stream.probe.cursor, nil] {
                let again = try hub.probe(agent, after: cursor)
                try await hub.settle([again])
                #expect(again.probe.titles == ["new"])
                #expect(again.probe.names == [])
            }
        }
    }

    @Test func `a connection that is lost while its stream is let in leaves nothing behind`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            stream.disconnect()
            try await hub.settle([stream])
            await hub.hub.writer.passInOrder()
            #expect(hub.streamCount == 0)
        }
    }
}

extension TestHub {
    var streamCount: Int { hub.status.streamCount }
}
