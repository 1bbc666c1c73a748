import Foundation
import GRDB
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import ServerSentEvents
import StreamProbe
import Synchronization
import Testing

@testable import HubServer

struct ResumptionTests {
    private struct Case {
        let cursor: String?
        let titles: [String]
        let isGap: Bool
    }

    @Test func `every form of Last-Event-ID is resumed from or answered with a gap`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            for title in ["x", "y"] { try await hub.accept(title) }
            let epoch = hub.hub.epochs.current
            let cases = [
                Case(cursor: nil, titles: ["x", "y"], isGap: false),
                Case(cursor: "\(epoch)-3", titles: [], isGap: false),
                Case(cursor: "\(epoch)-2", titles: ["y"], isGap: false),
                Case(cursor: "\(epoch)-1", titles: ["x", "y"], isGap: false),
                Case(cursor: "\(epoch)-0", titles: ["x", "y"], isGap: false),
                Case(cursor: "\(epoch)-4", titles: ["x", "y"], isGap: true),
                Case(cursor: "\(epoch)--1", titles: ["x", "y"], isGap: true),
                Case(cursor: "\(epoch)-03", titles: ["x", "y"], isGap: true),
                Case(cursor: "\(epoch)-99999999999999999999", titles: ["x", "y"], isGap: true),
                Case(cursor: "other-3", titles: ["x", "y"], isGap: true),
                Case(cursor: "3", titles: ["x", "y"], isGap: true),
                Case(cursor: "ä", titles: ["x", "y"], isGap: true),
            ]
            for known in cases {
                let stream = try hub.probe(agent, after: known.cursor)
                try await hub.settle([stream])
                #expect(stream.probe.titles == known.titles, "\(known.cursor ?? "none")")
                #expect(stream.probe.names == (known.isGap ? ["gap"] : []), "\(known.cursor ?? "none")")
            }
            let reader = try await hub.stream(agent, after: "")
            #expect(try await reader.message().title == "x", "an empty one is none")
        }
    }

    @Test func `a gap says what it misses, and comes first`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            try await hub.accept("x")
            let stream = try await hub.stream(agent, after: "unknown-7")
            let gap = try await stream.named()
            let data = try JSONDecoder().decode(StreamGap.self, from: Data(gap.data.utf8))
            #expect(gap.name == "gap")
            #expect(data.after == "unknown-7")
            #expect(data.resumesAt == 1)
            #expect(try await stream.message().title == "x")
        }
    }

    @Test func `a restored older copy announces a gap as soon as it has overtaken, and before`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a")
        try await TestHub.run(scratch) { hub in
            try await hub.register(agent)
            try await hub.accept("kept")
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: scratch.folder)
        #expect(left.sorted() == ["generation", "hub.sqlite", "secrets.key"], "closed")
        try scratch.copyHub(to: "older")
        let cursors = try await TestHub.run(scratch) { hub in
            let stream = try hub.probe(agent)
            for number in 0..<3 { try await hub.accept("lost \(number)") }
            try await hub.settle([stream])
            #expect(stream.probe.titles.count == 4)
            return stream.probe.events.compactMap(\.id)
        }
        try scratch.restoreHub(from: "older")
        try await TestHub.run(scratch) { hub in
            for sent in 0...6 {
                if sent > 0 { try await hub.accept("again \(sent)") }
                for cursor in cursors {
                    let stream = try hub.probe(agent, after: cursor)
                    try await hub.settle([stream])
                    #expect(stream.probe.names == ["gap"], "\(cursor) after \(sent)")
                    #expect(stream.probe.titles == ["kept"] + (0..<sent).map { "again \($0 + 1)" })
                }
            }
        }
    }

    @Test func `the copy of a running hub, restored, announces a gap, also to who was no further`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a")
        let cursors = try await TestHub.run(scratch) { hub in
            try await hub.register(agent)
            try await hub.accept("kept")
            try await hub.backUp(to: scratch.folder + "/older")
            let stream = try hub.probe(agent)
            for number in 0..<3 { try await hub.accept("lost \(number)") }
            try await hub.settle([stream])
            return stream.probe.events.compactMap(\.id)
        }
        try scratch.restoreHub(from: "older")
        try await TestHub.run(scratch) { hub in
            for sent in 0...6 {
                if sent > 0 { try await hub.accept("again") }
                for cursor in cursors {
                    let stream = try hub.probe(agent, after: cursor)
                    try await hub.settle([stream])
                    #expect(stream.probe.names == ["gap"], "\(cursor) after \(sent)")
                    #expect(stream.probe.titles.count == sent)
                }
            }
        }
    }

    @Test(arguments: ["size", "age"])
    func `a cursor whose news was dropped gets a gap, one that is further does not`(why: String) async throws {
        try await TestHub.run(try Scratch(), configure: { if why == "size" { $0.maximumLogBytes = 60_000 } }) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            let time = TestTime()
            for number in 0..<10 { try await hub.accept("m\(number)", message: String(repeating: "x", count: 10_000)) }
            try await hub.settle([stream])
            stream.disconnect()
            if why == "age" {
                try await hub.pass(71 * 3600, of: time)
                try await hub.accept("young")
                try await hub.pass(2 * 3600, of: time)
            } else {
                try await hub.pass(60, of: time)
            }
            let ids = stream.probe.events.compactMap(\.id)
            let dropped = hub.hub.status.droppedThrough
            #expect(dropped == (why == "age" ? 11 : 6))
            for id in [nil] + ids.map({ Optional($0) }) {
                let again = try hub.probe(agent, after: id)
                try await hub.settle([again])
                let isGone = (id.flatMap { StreamPosition(parsing: $0) }?.sequence ?? 1) < dropped
                #expect(again.probe.names == (isGone ? ["gap"] : []), "\(id ?? "none")")
            }
            let first = try hub.probe(agent)
            try await hub.settle([first])
            #expect(first.probe.titles == (why == "age" ? ["young"] : ["m5", "m6", "m7", "m8", "m9"]))
            #expect(try await hub.hub.store.logSize().droppedBySize == (why == "age" ? 0 : 5))
        }
    }

    @Test func `what is dropped while a slow stream is behind is a gap in its midst`() async throws {
        let small = { (configuration: inout HubConfiguration) in
            configuration.maximumLogBytes = 60_000
            configuration.streamLimits.cohortBytes = 30_000
        }
        try await TestHub.run(try Scratch(), configure: small) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try hub.probe(agent, taking: false)
            try await hub.accept("taken")
            try await hub.settle([stream])
            for number in 0..<10 { try await hub.accept("m\(number)", message: String(repeating: "x", count: 10_000)) }
            try await hub.pass(60, of: TestTime())
            stream.take(true)
            try await hub.settle([stream])
            // The stream took nothing since its head, so even the first message waited.
            #expect(stream.probe.names == ["gap"])
            #expect(stream.probe.titles == ["m5", "m6", "m7", "m8", "m9"])
        }
    }

    // MARK: - What cannot be read

    @Test func `a message that cannot be read is a gap, and what comes after it is served`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            for title in ["x", "bad", "worse", "y", "bad"] { try await hub.accept(title) }
            try await scratch.damage("UPDATE log SET body = 'nonsense' WHERE sequence IN (3, 6)")
            try await scratch.damage("UPDATE log SET messageID = 'no id' WHERE sequence = 4")
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["x", "y"])
            let gaps = try stream.probe.gaps
            #expect(gaps.map(\.resumesAt) == [5, 7])
            #expect(gaps.first?.after == stream.probe.events.first { $0.event == nil && $0.data != nil }?.id)
            try await hub.accept("z")
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["x", "y", "z"])
        }
    }

    @Test func `a row of pending messages that cannot be read is a gap for its messages`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            for tag in ["1", "2", "3"] {
                var agent = Agent("a", tags: [tag])
                agent.secret = Self.secret
                try await hub.register(agent)
                for number in 1...2 { try await hub.accept("\(tag).\(number)", tags: tag) }
            }
            try await scratch.damage("UPDATE owed SET record = 'nonsense' WHERE afterSequence = 4")
            var agent = Agent("a")
            agent.secret = Self.secret
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.titles == ["1.1", "1.2", "3.1", "3.2"])
            #expect(try stream.probe.gaps.map(\.resumesAt) == [7])
        }
    }

    private static let secret = PushChannelSecret.random()

    @Test func `an unreadable installation keeps no hub from starting, and is repaired by registering again`()
        async throws
    {
        let scratch = try Scratch()
        let (broken, other) = (Agent("broken", tags: ["World"]), Agent("other", tags: ["World"]))
        try await TestHub.run(scratch) { hub in
            for agent in [broken, other] { try await hub.register(agent) }
            try await hub.accept("before")
        }
        try await scratch.damage("UPDATE installation SET record = 'nonsense' WHERE installationID = 'broken'")
        try await TestHub.run(scratch) { hub in
            let streams = try [broken, other].map { try hub.probe($0) }
            try await hub.settle(streams)
            #expect(streams[0].probe.refusal?.status == 404)
            #expect(streams[1].probe.titles == ["before"])
            let read = try await hub.send("GET", "installations/broken", as: hub.listen, channel: broken.secret)
            #expect(read.status == 404)
            let patch = #"[{"op":"add","path":"/tags","value":"x"}]"#
            let patched = try await hub.send(
                "PATCH",
                "installations/broken",
                as: hub.listen,
                channel: broken.secret,
                patch
            )
            #expect(patched.status == 404)
            var thief = broken
            thief.secret = .random()
            #expect(try await hub.put(thief).status == 409)
            #expect(try await hub.put(broken).status == 200)
            let again = try hub.probe(broken)
            try await hub.accept("after", tags: "World")
            try await hub.settle([again])
            #expect(again.probe.titles == ["before", "after"])
        }
    }

    @Test func `who changes all the time keeps its latest choices, and a gap says so`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            var agent = Agent("a")
            let filler = String(repeating: "x", count: 60_000)
            let rounds = Transaction.maximumPendingBytes / 60_000 + 5
            for round in 1...rounds {
                agent.tags = ["t\(round)"]
                agent.templates["filler"] = InstallationTemplate(body: #"{"x":"\#(filler)"}"#, tags: [try Tag("none")])
                try await hub.register(agent)
                try await hub.accept("\(round)")
            }
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            let titles = stream.probe.messages.filter { $0.template == AgentTemplate.name }.map(\.title)
            let lost = rounds - titles.count
            #expect(lost > 0 && lost < 10)
            #expect(titles == ((lost + 1)...rounds).map { "\($0)" })
            #expect(try stream.probe.gaps.map(\.reason) == [Hub.forgotten])
            #expect(try stream.probe.gaps.first?.resumesAt == LogSequence(rawValue: Int64(2 * lost + 1)))
            // What it was is still known to have been made first of all.
            let first = try await hub.hub.store.installation(hub: 1, id: InstallationID("a"), at: hub.head)
            #expect(first?.registeredAt == hub.hub.configuration.timestamp)
        }
    }

    // MARK: - What is sent as a cursor

    @Test(arguments: [true, false])
    func `of a strange cursor only the beginning is kept and reported`(isFirst: Bool) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let cursor = "tab\tand " + String(repeating: "x", count: 5_000)
            let connection = try await Connection.open(hub.port)
            if !isFirst { try await connection.send(hub.request("GET", "categories", as: hub.listen)) }
            let headers = [HeaderName.lastEventID: cursor]
            let path = "installations/a/stream"
            try await connection.send(
                hub.request("GET", path, as: hub.listen, channel: agent.secret, headers: headers)
            )
            let stream = try await EventReader(connection, after: isFirst ? 0 : 1)
            let gap = try JSONDecoder().decode(StreamGap.self, from: Data(try await stream.named().data.utf8))
            let reported = try #require(gap.after)
            #expect(reported.unicodeScalars.count <= 100 && reported.hasPrefix("tab\u{FFFD}and xxx"))
            #expect(try await hub.hub.ask { $0.progress[1]?.resumedFrom } == reported)
        }
    }

    @Test func `dropped news that an idle stream did not want is not a gap for it`() async throws {
        let small = { (configuration: inout HubConfiguration) in configuration.streamLimits.cohortBytes = 30_000 }
        try await TestHub.run(try Scratch(), configure: small) { hub in
            let (idle, other) = (Agent("idle", tags: ["World"]), Agent("other", tags: ["Sports"]))
            try await hub.register(idle)
            try await hub.register(other)
            let stream = try hub.probe(idle)
            let time = TestTime()
            for _ in 0..<5 { try await hub.accept("s", tags: "Sports") }
            try await hub.pass(73 * 3600, of: time)
            try await hub.settle([stream])
            stream.probe.take(false)
            let long = String(repeating: "x", count: 10_000)
            for number in 0..<10 { try await hub.accept("m\(number)", tags: "World", message: long) }
            try await hub.settle([stream])
            stream.take(true)
            try await hub.settle([stream])
            #expect(stream.probe.names == [])
            #expect(stream.probe.titles == (0..<10).map { "m\($0)" })
        }
    }
}

extension Probe {
    var gaps: [StreamGap] {
        get throws {
            try events.filter { $0.event == StreamEventName.gap }
                .map { try JSONDecoder().decode(StreamGap.self, from: Data(($0.data ?? "").utf8)) }
        }
    }
}

extension TestHub {
    /// Copies the file while the hub runs, as an operator's backup does.
    func backUp(to path: String) async throws {
        let queue = try DatabaseQueue(path: hub.configuration.databasePath)
        try await queue.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
    }
}
