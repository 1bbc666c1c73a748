import Alarms
import Foundation
import HubProtocol
import HubRouting
import HubStore
import SharedLog
import Synchronization
import Testing

import class HubTestServer.LogLines

@testable import HubServer

/// Nodes whose wall clocks differ.
struct NodeClockTests {
    // MARK: The comparison

    /// Clocks of a node, and of others relative to the node's first time.
    private final class Room: Sendable {
        static let first = Timestamp(milliseconds: 1_900_000_000_000)

        private let times = Mutex((wall: Room.first, monotonic: Duration.zero))
        private let servers = Mutex<[String: Timestamp]>([:])

        var clocks: NodeClocks {
            NodeClocks(
                wall: { self.times.withLock { $0.wall } },
                monotonic: { self.times.withLock { $0.monotonic } },
                servers: { self.servers.withLock { $0 } }
            )
        }

        func pass(_ seconds: Int64) {
            times.withLock { times in
                times.wall = times.wall.advanced(byMilliseconds: seconds * 1_000)
                times.monotonic += .seconds(seconds)
            }
        }

        func set(server: String, to seconds: Int64) {
            servers.withLock { $0[server] = Self.first.advanced(byMilliseconds: seconds * 1_000) }
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var nodes: [Int64] = []
        var servers: [Int64] = []
        let verdict: NodeClocks.Verdict
    }

    private static let cases = [
        Case(testDescription: "alone", verdict: .agrees),
        Case(testDescription: "seconds", nodes: [-9, 9], servers: [4], verdict: .agrees),
        Case(testDescription: "ahead of two", nodes: [-7_200, -7_200], verdict: .deviates(by: .seconds(7_200))),
        Case(
            testDescription: "behind a node and a server",
            nodes: [60],
            servers: [60],
            verdict: .deviates(by: .seconds(-60))
        ),
        Case(testDescription: "alone against a server", servers: [-7_200], verdict: .undecided),
        Case(testDescription: "alone against two servers", servers: [60, 61], verdict: .deviates(by: .seconds(-60))),
        Case(testDescription: "a node that deviates", nodes: [7_200], servers: [0], verdict: .agrees),
        Case(testDescription: "a machine that deviates", nodes: [0, 7_200], servers: [7_200], verdict: .agrees),
        Case(testDescription: "two against two", nodes: [0, 60, 60], verdict: .undecided),
        Case(testDescription: "times that cannot be true", nodes: [.max / 1_000, .max / 1_000, -1], verdict: .agrees),
    ]

    @Test(arguments: Self.cases)
    func `a clock is compared with the median, and without a majority with that of the nodes`(_ test: Case) {
        let room = Room()
        let clocks = room.clocks
        for (number, seconds) in test.nodes.enumerated() {
            clocks.note(Room.first.advanced(byMilliseconds: seconds * 1_000), of: "node\(number)")
        }
        for (number, seconds) in test.servers.enumerated() { room.set(server: "log\(number)", to: seconds) }
        #expect(clocks.compare().verdict == test.verdict)
    }

    @Test func `reports that are read late do not make a clock look slow`() {
        let room = Room()
        let clocks = room.clocks
        // Both nodes report once a second, and this one reads all of it after a pause.
        room.pass(60)
        for second in 1...60 {
            let time = Room.first.advanced(byMilliseconds: Int64(second) * 1_000)
            for node in ["b", "c"] { clocks.note(time, of: node) }
        }
        #expect(clocks.compare().verdict == .agrees)
        #expect(clocks.compare().nodes == ["b": .zero, "c": .zero])
    }

    @Test func `the clock of a node that is gone for ten minutes does not count`() {
        let room = Room()
        let clocks = room.clocks
        for node in ["b", "c"] { clocks.note(Room.first.advanced(byMilliseconds: 60_000), of: node) }
        room.pass(599)
        #expect(clocks.compare().verdict == .deviates(by: .seconds(-60)))
        room.pass(1)
        #expect(clocks.compare().verdict == .agrees)
    }

    // MARK: Duties

    private let patience = Double(LeaseKeeper.patience.components.seconds)

    /// Both nodes and the log's server report their times.
    private func report(_ nodes: TwoNodes, server: Date) async {
        nodes.log.report(LogServerReport(clocks: ["log1": Timestamp(server)]))
        for node in [nodes.a, nodes.b] { node.hub.others?.announcePresence() }
        for name in ["a", "b"] { await nodes.channel.settle(name) }
    }

    private func schedule(_ hub: TestHub, at time: String) async throws {
        let headers = [HeaderName.format: "template", HeaderName.scheduleTime: time]
        let reply = try await hub.send(
            "POST",
            "schedulednotifications",
            as: hub.full,
            headers: headers,
            #"{"title":"x"}"#
        )
        try #require(reply.status == 201)
    }

    @Test func `a node whose clock is two hours ahead takes no duties, and releases nothing`() async throws {
        let right = TestClock()
        let wrong = TestClock(right.now + 7_200)
        try await TwoNodes.run(clocks: (right, wrong)) { nodes in
            let (a, b) = (nodes.a, nodes.b)
            try await schedule(a, at: "2030-03-17T18:46:40Z")
            try await b.service.catchUp()
            await report(nodes, server: right.now)
            await b.keepLease()
            // `a` does not renew its term any more.
            for node in [a, b] { node.clock.advance(by: patience) }
            await report(nodes, server: right.now)
            await b.keepLease()
            await b.service.releases.look()
            #expect(b.service.lease.term == nil)
            #expect(try await b.newest().map(\.state) == [.scheduled])
            #expect(b.hub.status.scheduled.messages == 1)

            b.clock.jump(by: -7_200)
            await b.keepLease()
            for node in [a, b] { node.clock.advance(by: patience) }
            await report(nodes, server: right.now)
            await b.keepLease()
            #expect(b.service.lease.current != nil)
        }
    }

    @Test func `a node whose clock is set wrong gives up its duties at once, and says why`() async throws {
        let lines = LogLines()
        try await TwoNodes.run(logger: lines.logger) { nodes in
            let (a, b) = (nodes.a, nodes.b)
            await report(nodes, server: a.clock.now)
            await a.keepLease()
            try #require(a.service.lease.current != nil)
            a.clock.jump(by: 30)
            #expect(a.service.lease.current == nil, "before it has looked at its duties again")
            for _ in 0..<3 { await a.keepLease() }
            try await b.service.catchUp()
            await b.keepLease()
            #expect(b.service.lease.current != nil, "without waiting")

            let words = "its clock is 30 s ahead of the other hubs"
            let warnings = lines.all.filter { $0.hasPrefix("warning this node takes no duties") }
            #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains(words) })
            let reply = try await a.send("GET", "overview", as: a.full)
            let node = try #require(try JSONDecoder().decode(HubOverview.self, from: Data(reply.body.utf8)).node)
            #expect(node.dutyObstacle?.contains(words) == true && node.clockAheadSeconds == 30)
            #expect(node.peers.map(\.clockAheadSeconds) == [0])
            let metrics = try await a.send("GET", "/metrics", as: nil).body
            #expect(metrics.contains("newswire_node_may_have_duties 0\n"))
            #expect(metrics.contains(#"newswire_node_clock_ahead_seconds{node="a"} 30"#))
            // The one with the duties reports it as an alarm.
            a.hub.others?.announcePresence()
            await nodes.channel.settle("b")
            let seen = try #require(b.service.directory.nodeReport(b.service.served.writer))
            #expect(seen.peers.first?.dutyObstacle?.contains(words) == true)
            var record = AlarmRecord()
            let observer = AlarmObserver(hub: b.hub, publishers: [], isPrimary: true, tls: nil, node: seen)
            #expect(try await observer.facts(&record).unfitHubs["a"]?.contains(words) == true)

            a.clock.jump(by: -30)
            await a.keepLease()
            #expect(lines.all.contains { $0.hasPrefix("notice this node may have duties again") })
            a.hub.others?.announcePresence()
            await nodes.channel.settle("b")
            #expect(b.service.directory.nodeReport(b.service.served.writer)?.peers.first?.dutyObstacle == nil)
        }
    }

    @Test func `a report of an earlier version has no time, and does not count`() async throws {
        try await TwoNodes.run { nodes in
            nodes.announcePresence(of: "c")
            await nodes.channel.settle("a")
            let comparison = try #require(nodes.a.hub.others).eligibility.clocks.compare()
            #expect(comparison.verdict == .agrees && comparison.nodes.isEmpty)
        }
    }

    @Test func `an earlier version reads a report with a time`() async throws {
        try await TwoNodes.run { nodes in
            var announcements = nodes.channel.node("x").announcements().makeAsyncIterator()
            nodes.a.hub.others?.announcePresence()
            let report = try #require(await announcements.next())
            // As it was read before.
            var reader = EntryReader(Array(report.dropFirst()))
            #expect(try reader.text() == "a")
            #expect(try reader.text() == "unknown")
            #expect(try reader.number() == nodes.a.hub.store.head.number)
            #expect(try reader.number() == UInt64(nodes.a.hub.store.schema))
            #expect(try reader.byte() == 0)
        }
    }

    @Test func `the log's servers and their replicas are shown`() async throws {
        try await TwoNodes.run { nodes in
            nodes.log.report(LogServerReport(replicas: HubOverview.Node.Replicas(configured: 3, late: ["log2"])))
            let reply = try await nodes.a.send("GET", "overview", as: nodes.a.full)
            let node = try #require(try JSONDecoder().decode(HubOverview.self, from: Data(reply.body.utf8)).node)
            #expect(node.replicas == HubOverview.Node.Replicas(configured: 3, late: ["log2"]))
            let metrics = try await nodes.a.send("GET", "/metrics", as: nil).body
            #expect(metrics.contains("newswire_node_log_replicas 3\n"))
            #expect(metrics.contains("newswire_node_log_replicas_current 2\n"))
        }
    }
}
