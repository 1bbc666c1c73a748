import Dispatch
import Foundation
import HubProtocol
import HubRouting
import HubStore
import SharedLog
import StreamProbe
import Testing

@testable import HubServer

/// Hubs that share a log; a node follows the others before it writes.
struct SharedLogTests {
    private func nodes(_ body: (_ one: TestHub, _ other: TestHub) async throws -> Void) async throws {
        let (first, second, log) = (try Scratch(), try Scratch(), MemoryLog(incarnation: "log"))
        // Entries hold credentials, encrypted with the key that all nodes have.
        let (secrets, channel) = (first.path + ".key", MemoryChannel())
        func run(
            _ scratch: Scratch,
            _ name: String,
            _ body: (TestHub) async throws -> Void
        ) async throws {
            try await TestHub.run(
                scratch,
                log: log.node(name),
                channel: channel.node(name),
                configure: { $0.secretsPath = secrets },
                body
            )
        }
        try await run(first, "a") { one in try await run(second, "b") { other in try await body(one, other) } }
    }

    @Test func `nodes have the same keys and one epoch, and agents may change over`() async throws {
        try await nodes { one, other in
            #expect([one, other].map(\.hub.epochs.current) == ["log", "log"])
            #expect(one.full == other.full && one.listen == other.listen)
            let agent = Agent("a", tags: ["World"])
            try await one.register(agent)
            #expect(try await other.post(["title": "first"], tags: "World").status == 201)
            #expect(try await other.hub.recipients(of: nil).total == 1)
            let stream = try await other.stream(agent)
            #expect(try await stream.message().title == "first")
            try await one.accept("second")
            try await other.accept("third")
            #expect(try await stream.titles(until: "third") == ["second"])
            try await one.accept("fourth")
            let resumed = try await one.stream(agent, after: stream.cursor)
            #expect(try await resumed.message().title == "fourth")
        }
    }

    @Test func `a stream ends when another node has removed its installation`() async throws {
        try await nodes { one, other in
            let agent = Agent("a")
            try await one.register(agent)
            try await other.accept("first")
            let stream = try await other.stream(agent)
            #expect(try await stream.message().title == "first")
            let removal = try await one.send("DELETE", "installations/a", as: one.listen, channel: agent.secret)
            #expect(removal.status == 204)
            try await other.accept("second")
            #expect(try await stream.named().name == StreamEventName.revoked)
        }
    }

    @Test func `a node shows at once what another has written`() async throws {
        try await nodes { one, other in
            let agent = Agent("a", tags: ["World"])
            try await one.register(agent)
            let found = try await other.send("GET", "installations/a", as: other.full)
            #expect(found.status == 200)
            let stream = try await other.stream(agent)
            try await one.accept("first")
            #expect(try await stream.message().title == "first", "without a write at this node")
        }
    }

    @Test func `a stream ends an older one of its installation at another node, whatever the clocks say`() async throws
    {
        try await nodes { one, other in
            let agent = Agent("a")
            try await one.register(agent)
            other.clock.jump(by: 3_600)
            let first = try await other.stream(agent)
            _ = try await one.stream(agent)
            #expect(try await first.named().name == StreamEventName.replaced)
        }
    }

    @Test func `an overview shows how far the nodes follow the log`() async throws {
        try await nodes { one, other in
            _ = try await one.accept("first")
            try await other.hub.writer.catchUp()
            other.hub.others?.announcePresence()
            try await other.hub.writer.catchUp()
            let reply = try await one.send("GET", "overview", as: one.full)
            let overview = try JSONDecoder().decode(HubOverview.self, from: Data(reply.body.utf8))
            let node = try #require(overview.node)
            #expect(node.name == "a" && node.writer == "a" && node.cutOffSeconds == nil)
            #expect(node.position == node.logEnd)
            let metrics = try await one.send("GET", "/metrics", as: nil)
            #expect(metrics.body.contains("newswire_node_log_available 1"))
        }
    }

    @Test func `a node knows what another one has written to its streams`() async throws {
        try await nodes { one, other in
            let agent = Agent("a")
            try await one.register(agent)
            let stream = try await other.stream(agent)
            let id = try await one.accept("news")
            #expect(try await stream.message().title == "news")
            #expect(try await one.report(id).streams.pending == 1)
            let patience = ContinuousClock.now + .seconds(30)
            var report = try await one.report(id, "a")
            while report.streams.written == 0, ContinuousClock.now < patience {
                try await other.hub.flushProgress()
                try await one.hub.flushProgress()
                report = try await one.report(id, "a")
            }
            #expect(report.streams.written == 1 && report.streams.pending == 0 && report.state == .completed)
            #expect(report.device?.stream?.connectedAt != nil)
        }
    }

    @Test func `the end of a stream that was replaced at another node takes nothing back`() async throws {
        try await nodes { one, other in
            let agent = Agent("a")
            try await one.register(agent)
            let former = try await one.stream(agent)
            try await one.accept("first")
            #expect(try await former.message().title == "first")
            try await one.hub.flushProgress()
            let stream = try await other.stream(agent, after: former.cursor)
            #expect(try await former.named().name == StreamEventName.replaced)
            let id = try await other.accept("second")
            #expect(try await stream.message().title == "second")
            let patience = ContinuousClock.now + .seconds(30)
            var report = try await one.report(id, "a")
            while report.streams.written == 0, ContinuousClock.now < patience {
                try await other.hub.flushProgress()
                try await one.hub.flushProgress()
                report = try await one.report(id, "a")
            }
            #expect(report.streams.written == 1 && report.device?.stream?.disconnectedAt == nil)
            #expect(report.device?.stream?.replacedAt != nil)
            try await other.hub.flushProgress()
            #expect(try await other.report(id).streams.written == 1)
        }
    }

    @Test(arguments: [(1_000, 5), (2_000, 5), (1_000, 9), (3_000, 9)])
    func `of two reports the later connection counts`(connectedAt: Int64, written: Int64) throws {
        let known = StreamProgress(ordinal: 1, written: 7, connectedAt: 2_000)
        let report = StreamProgress(
            ordinal: 1,
            written: LogSequence(rawValue: written),
            connectedAt: Timestamp(milliseconds: connectedAt)
        )
        let latest = StreamProgress.latest(known, report)
        #expect(latest.written == (connectedAt > 2_000 ? 9 : 7))
        #expect(latest.connectedAt?.milliseconds == max(2_000, connectedAt))
    }

    @Test func `endings stay when another node reports a later connection`() throws {
        let known = StreamProgress(ordinal: 1, written: 7, connectedAt: 2_000, replacedAt: 3_000, revokedAt: 1_500)
        let latest = StreamProgress.latest(known, StreamProgress(ordinal: 1, written: 9, connectedAt: 3_000))
        #expect(latest.written == 9 && latest.replacedAt == 3_000 && latest.revokedAt == 1_500)
        let merged = StreamProgress.merged(latest, StreamProgress(ordinal: 1, written: 8, replacedAt: 3_001))
        #expect(merged?.written == 9 && merged?.connectedAt == 3_000 && merged?.replacedAt == 3_001)
    }

    @Test func `numbers in another node's reports that cannot be true do no harm`() async throws {
        try await nodes { one, _ in
            let others = try #require(one.hub.others)
            var streams = EntryWriter()
            streams.append(number: UInt64(one.hub.record.id.rawValue))
            streams.append(list: [UInt64.max]) { bytes, stamp in
                bytes.append(number: 1)
                bytes.append(number: stamp)
            }
            others.note(streams: streams.bytes[...], one.hub.writer, at: 1)
            let stamp = others.stamp(at: 1)
            #expect(others.stamp(at: 1) == stamp + 1)

            var presence = EntryWriter()
            for text in ["c", "1.0"] { presence.append(text: text) }
            presence.append(number: .max)
            others.note(presence: presence.bytes[...])
            let metrics = try await one.send("GET", "/metrics", as: nil)
            #expect(metrics.body.contains(#"newswire_node_log_position{node="c"} 9.22"#))
        }
    }

    @Test func `streams of a key that another node has revoked end`() async throws {
        try await nodes { one, other in
            let agent = Agent("a")
            try await one.register(agent)
            let stream = try await other.stream(agent)
            let rules = TestHub.rule("Senders", ["Send"], primary: "s")
            let body = TestHub.entry("<AuthorizationRules>\(rules)</AuthorizationRules>")
            #expect(try await one.manage("PUT", "/news", headers: ["If-Match": "*"], body).status == 200)
            #expect(try await stream.named().name == StreamEventName.revoked)
            #expect(try await other.send("GET", "categories", as: other.listen).status == 401)
        }
    }

    @Test func `a node with a full disk is cut off, and its streams end`() async throws {
        let (first, second, log) = (try Scratch(), try Scratch(), MemoryLog(incarnation: "log"))
        let secrets = first.path + ".key"
        try await TestHub.run(first, log: log.node("a"), configure: { $0.secretsPath = secrets }) { one in
            let agent = Agent("a")
            try await one.register(agent)
            func configure(_ configuration: inout HubConfiguration) {
                configuration.secretsPath = secrets
                configuration.maximumPages = 190
            }
            try await TestHub.run(second, log: log.node("b"), configure: configure) { other in
                let stream = try await other.stream(agent)
                let long = String(repeating: "x", count: 8_000)
                let health = other.hub.writer.health
                for number in 0..<500 where health.cutOffSince == nil {
                    try await one.accept("m\(number)", message: long)
                    await other.hub.writer.passInOrder()
                }
                #expect(health.failureReason?.contains("the disk is full") == true)
                #expect(try await other.send("GET", "/readyz", as: nil).status == 503)
                #expect(try await one.post(["title": "more"]).status == 201, "the other node goes on")
                #expect(other.hub.status.streamCount == 1)
                other.service.nodes?.following.look(at: .now + LogFollowing.patience + .seconds(1))
                while try await stream.next() != nil {}
            }
        }
    }

    @Test func `a commit that is too large for the log is written in parts`() async throws {
        let log = MemoryLog(incarnation: "log", limit: 10_000)
        try await TestHub.run(try Scratch(), log: log.node("a")) { hub in
            // Both wait for the commit before them, on the database's thread, and are committed together.
            let gate = DispatchSemaphore(value: 0)
            let (stages, stage) = AsyncStream<Void>.makeStream()
            async let held: Void = hub.hub.perform { _, _ in
                stage.yield()
                gate.wait()
                return ((), [])
            }
            for await _ in stages { break }
            let long = String(repeating: "x", count: 6_000)
            async let one: MessageID = hub.accept("one", message: long)
            async let other: MessageID = hub.accept("other", message: long)
            // Each stage runs twice.
            defer { for _ in 0..<2 { gate.signal() } }
            try await hub.wait { hub.hub.writer.backlog.bytes > 12_000 }
            let before = try log.entries.count
            for _ in 0..<2 { gate.signal() }
            _ = try await (held, one, other)
            #expect(try log.entries.count >= before + 2)
            let refusal = try await hub.post(["title": "x", "message": String(repeating: "x", count: 12_000)])
            #expect(refusal.status == 413 && refusal.body.contains("max_payload"))
            #expect(try await hub.post(["title": "small"]).status == 201)
        }
    }

    @Test func `a node stops if the log ends before its place`() async throws {
        let log = MemoryLog(incarnation: "log")
        await #expect(throws: OrderedLogError.self) {
            try await TestHub.run(try Scratch(), log: log.node("a")) { hub in
                _ = try await hub.accept("first")
                log.change { $0.removeLast() }
                hub.hub.writer.follow()
                try await hub.wait { hub.hub.writer.health.finalFailure != nil }
            }
        }
    }

    @Test func `a node without its log refuses reads, writes and streams, and recovers`() async throws {
        let (scratch, log) = (try Scratch(), MemoryLog(incarnation: "log"))
        try await TestHub.run(scratch, log: log.node("a")) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            log.setAway(true)
            #expect(try await hub.post(["title": "first"]).status == 503)
            #expect(try await hub.send("GET", "installations/a", as: hub.full).status == 503)
            #expect(try await hub.send("GET", "/readyz", as: nil).status == 503)
            log.setAway(false)
            hub.hub.writer.follow()
            try await hub.wait { hub.hub.writer.health.cutOffSince == nil }
            #expect(try await hub.send("GET", "installations/a", as: hub.full).status == 200)
            #expect(try await hub.post(["title": "first"]).status == 201)
        }
    }

    @Test func `a database with other content is refused, its copy is not`() async throws {
        let (first, second, log) = (try Scratch(), try Scratch(), MemoryLog(incarnation: "log"))
        try await TestHub.run(first) { _ = try await $0.accept("alone") }
        try await TestHub.run(second) { _ = try await $0.accept("another") }
        try await TestHub.run(first, log: log.node("a")) { _ = try await $0.accept("shared") }
        let copy = try Scratch()
        try FileManager.default.copyItem(atPath: first.path, toPath: copy.path)
        let secrets = first.folder + "/secrets.key"
        try await TestHub.run(copy, log: log.node("d"), configure: { $0.secretsPath = secrets }) { hub in
            let extent = try await hub.hub.store.extent()
            #expect(extent.top == 2)
        }
        await #expect(throws: OrderedLogError.self) {
            try await TestHub.run(second, log: log.node("b")) { _ in }
        }
        await #expect(throws: OrderedLogError.forked(number: 1), "an empty database lacks what came before the log") {
            try await TestHub.run(try Scratch(), log: log.node("c"), configure: { $0.secretsPath = secrets }) { _ in }
        }
    }

    @Test func `a node starts again in the same epoch, an embedded hub begins one`() async throws {
        let (shared, embedded, log) = (try Scratch(), try Scratch(), MemoryLog(incarnation: "log"))
        for start in 1...2 {
            try await TestHub.run(shared, log: log.node("a")) { hub in
                #expect(hub.hub.epochs.epochs.map(\.name) == ["log"])
            }
            try await TestHub.run(embedded) { hub in
                #expect(hub.hub.epochs.epochs.count == start)
            }
        }
    }
}
