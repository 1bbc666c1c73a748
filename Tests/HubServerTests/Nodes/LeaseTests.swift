import Alarms
import Foundation
import HubProtocol
import HubRouting
import PushServices
import SharedLog
import Testing

@testable import HubServer
@testable import HubStore

/// Duties that one of several nodes has at a time.
struct LeaseTests {
    @Test func `one node has the duties, and keeps them while it renews them`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            let term = try #require(a.service.lease.current)
            for _ in 0..<10 {
                for node in [a, b] { node.clock.advance(by: 5) }
                for node in [a, b] { await node.keepLease() }
                try await nodes.catchUp()
                #expect(a.service.lease.current == term && b.service.lease.current == nil)
            }
            let lease = try await b.hub.store.lease()
            #expect(lease.node == "a" && lease.term == term.number && lease.renewals == 10)
        }
    }

    @Test func `another node takes over after fifteen seconds without a renewal, by clocks that never jump`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            await b.keepLease()
            b.clock.jump(by: 86_400)
            b.clock.advance(by: 14.9)
            await b.keepLease()
            #expect(b.service.lease.current == nil)
            a.clock.advance(by: 9.9)
            #expect(a.service.lease.current != nil)
            a.clock.advance(by: 0.1)
            #expect(a.service.lease.current == nil, "a node that cannot renew stops before another takes over")
            b.clock.advance(by: 0.1)
            await b.keepLease()
            let term = try #require(b.service.lease.current?.number)
            let lease = try await b.hub.store.lease()
            #expect(lease == LeaseRecord(node: "b", term: term, renewals: 0))
            await a.keepLease()
            #expect(a.service.lease.term == nil && b.service.lease.current?.number == term)
        }
    }

    @Test func `a renewal that a node has not seen yet keeps it from taking over`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            await b.keepLease()
            a.clock.advance(by: 5)
            await a.keepLease()
            b.clock.advance(by: 60)
            await b.keepLease()
            #expect(b.service.lease.term == nil && a.service.lease.current != nil)
        }
    }

    @Test func `a term that has lapsed goes on if nobody has taken over`() async throws {
        try await TwoNodes.run { nodes in
            let term = nodes.a.service.lease.term
            nodes.a.clock.advance(by: 3_600)
            #expect(nodes.a.service.lease.current == nil)
            await nodes.a.keepLease()
            #expect(nodes.a.service.lease.current == term)
        }
    }

    @Test func `a node that stops hands over, and one that starts again is not waited for`() async throws {
        let (log, first, second) = (MemoryLog(incarnation: "log"), try Scratch(), try Scratch())
        func run(_ scratch: Scratch, _ node: String, _ body: (TestHub) async throws -> Void) async throws {
            let secrets = first.path + ".key"
            func configure(_ configuration: inout HubConfiguration) {
                configuration.secretsPath = secrets
                configuration.leaseInterval = .seconds(3_600)
            }
            try await TestHub.run(scratch, log: log.node(node), configure: configure, body)
        }
        try await run(second, "b") { b in
            await b.keepLease()
            try await run(first, "a") { a in
                await a.keepLease()
                a.clock.advance(by: 15)
                await a.keepLease()
                #expect(a.service.lease.current != nil)
            }
            try await b.service.catchUp()
            await b.keepLease()
            #expect(b.service.lease.term == nil, "the other one had them meanwhile")
            await b.keepLease()
            #expect(b.service.lease.current != nil, "at once")
        }
        // As after a crash: the row names the node.
        let store = try HubStore(path: second.path, log: log.node("b"))
        let take = { @Sendable (transaction: Transaction) in try transaction.takeLease(by: "b") }
        let term = try await store.commit([take])[0].get()
        try store.close()
        try await run(second, "b") { b in
            await b.keepLease()
            let number = try #require(b.service.lease.current?.number)
            #expect(number > term)
        }
    }

    @Test func `a hub with one node has its duties without a row`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            hub.clock.advance(by: 86_400)
            #expect(hub.service.lease.current == .unshared && hub.service.nodes?.leaseKeeper == nil)
            let lease = try await hub.hub.store.lease()
            #expect(lease == LeaseRecord(node: nil, term: 0, renewals: 0))
        }
    }

    // MARK: Acts

    @Test func `a scheduled message is released once, by the node with the duties`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            let reply = try await b.send(
                "POST",
                "schedulednotifications",
                as: b.full,
                headers: [HeaderName.format: "template", HeaderName.scheduleTime: "2030-03-17T18:00:00"],
                #"{"title":"later"}"#
            )
            try #require(reply.status == 201)
            try await nodes.takeOver()
            // `a` does not know yet: it was paused.
            let term = try #require(a.service.lease.term)
            for node in [a, b] { node.clock.jump(by: 3_600) }
            let now = a.hub.configuration.timestamp
            await #expect(throws: LeaseLost.self) { try await a.hub.scheduled.releaseDue(at: now, in: term) }
            let held = try #require(b.service.lease.current)
            #expect(try await b.hub.scheduled.releaseDue(at: now, in: held) == false)
            #expect(try await b.hub.scheduled.releaseDue(at: now, in: held) == false)
            try await nodes.catchUp()
            #expect(a.hub.status.scheduled.messages == 0 && a.hub.status.scheduled.nextDue == nil)
            for node in [a, b] { #expect(try await node.newest().map(\.id) == [try reply.messageID]) }
        }
    }

    @Test func `only the node with the duties drops what has expired`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            try await a.accept("old")
            try await b.service.catchUp()
            for node in [a, b] { node.clock.advance(by: 73 * 3_600) }
            // Both clocks have been steady for as long.
            let time = TestTime()
            time.monotonic += .seconds(73 * 3_600)
            try await b.service.housekeeping.purge(monotonic: time.monotonic)
            #expect(try await b.newest().count == 1)
            await a.keepLease()
            try await a.service.housekeeping.purge(monotonic: time.monotonic)
            try await b.service.catchUp()
            #expect(try await b.newest().isEmpty)
            #expect(b.hub.status.droppedThrough == a.hub.status.droppedThrough)
        }
    }

    @Test func `a hub that was deleted at any node is purged by the node with the duties`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            _ = try await b.make("other")
            try await a.service.catchUp()
            #expect(a.service.directory.all.map(\.hub.record.name.text) == ["news", "other"])
            #expect(try await b.manage("DELETE", "/other").status == 200)
            try await b.service.hubPurge.purge()
            #expect(try await b.hub.store.hubsToPurge().count == 1)
            try await a.service.catchUp()
            #expect(a.service.directory.all.count == 1)
            try await a.service.hubPurge.purge()
            try await b.service.catchUp()
            #expect(try await b.hub.store.hubsToPurge().isEmpty)
        }
    }

    @Test func `a job runs where its files are`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            try await a.install("phone", handle: "AABB", tags: ["World"])
            let reply = try await b.manage("POST", "/news/jobs", TestHub.job("ExportRegistrations"))
            try #require(reply.status == 201, "\(reply.body)")
            let hub = b.hub.record.id
            let id = try #require(try await b.hub.store.jobs(hub: hub, limit: 1).first).job.id
            var job: StoredJob?
            while job?.job.status.isFinished != true { job = try await b.hub.store.job(hub: hub, id: id) }
            #expect(job?.node == "b" && job?.job.status == .completed)
            try await a.service.catchUp()
            #expect(try await a.manage("GET", "/news/jobs/\(id)").body.contains("<Status>Completed</Status>"))
            #expect(try String(contentsOfFile: "\(b.jobs)/news/\(id)/Output.txt", encoding: .utf8).contains("AABB"))
            #expect(!FileManager.default.fileExists(atPath: "\(a.jobs)/news/\(id)"))
        }
    }

    /// Stores a job that another node has accepted.
    private func accept(_ id: String, by node: String, at hub: Hub) async throws -> StoredJob {
        let job = StoredJob(
            hub: hub.record.id,
            node: node,
            job: NotificationHubJob(
                id: id,
                request: .init(kind: .exportRegistrations, outputContainerURI: "c"),
                createdAt: 1,
                updatedAt: 1
            )
        )
        try await hub.perform { transaction, _ in
            try transaction.insert(job)
            return ((), [])
        }
        return job
    }

    @Test func `a job of a node that is gone for a day fails, by the node with the duties`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            var late = try await accept("gone", by: "c", at: a.hub)
            _ = try await accept("waits", by: "d", at: a.hub)
            try await nodes.catchUp()
            nodes.announcePresence(of: "d")
            for name in ["a", "b"] { await nodes.channel.settle(name) }
            func statuses(after seconds: Double) async throws -> [NotificationHubJob.Status] {
                for node in [a, b] { node.clock.advance(by: seconds) }
                await a.keepLease()
                for node in [b, a] { try await node.service.nodes?.abandonedJobs.look() }
                let jobs = try await a.hub.store.jobs(hub: a.hub.record.id, limit: 9)
                return jobs.sorted { $0.job.id < $1.job.id }.map(\.job.status)
            }
            #expect(try await statuses(after: 0) == [.started, .started])
            #expect(try await statuses(after: 86_399) == [.started, .started])
            #expect(try await statuses(after: 1) == [.failed, .started])
            let shown = try await b.manage("GET", "/news/jobs/gone")
            #expect(shown.body.contains("The server 'c', which has the job's files, has not reported for a day."))
            // The node comes back in the middle of it.
            late.job.status = .running
            let isTaken = try await a.hub.perform { [late] transaction, _ in (try transaction.update(late), []) }
            #expect(!isTaken)
        }
    }

    @Test func `a job of another node waits for that node`() async throws {
        try await TwoNodes.run { nodes in
            _ = try await accept("j", by: "c", at: nodes.a.hub)
            try await nodes.catchUp()
            for node in [nodes.a, nodes.b] {
                #expect(try await node.hub.store.unfinishedJobs().isEmpty)
                let shown = try await node.manage("GET", "/news/jobs/j")
                #expect(shown.status == 200 && !shown.body.contains("<Status>"), "it has started and no more")
            }
        }
    }

    // MARK: State in memory

    @Test func `nodes learn of categories, hubs and rules that another one has changed`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            let (categories, reports) = (b.hub.status.categoryRevision, b.hub.status.reportRevision)
            try await a.hub.setCategories(["Harbour"], publisher: "p", bytes: 1)
            try await a.report()
            try await b.service.catchUp()
            #expect(b.hub.status.categoryRevision > categories && b.hub.status.reportRevision > reports)
        }
    }

    @Test func `a hub of the configuration is known to nodes that run already`() async throws {
        let (log, first, second) = (MemoryLog(incarnation: "log"), try Scratch(), try Scratch())
        let secrets = first.path + ".key"
        try await TestHub.run(first, log: log.node("a"), configure: { $0.secretsPath = secrets }) { a in
            let name = try HubName("weather")
            try await TestHub.run(second, log: log.node("b")) {
                $0.secretsPath = secrets
                $0.provisions.hubs = [.init(name: name, registrationTimeToLive: nil, rules: [])]
            } _: { _ in
                try await a.service.catchUp()
                #expect(a.service.directory.all.map(\.hub.record.name.text) == ["news", "weather"])
            }
        }
    }

    @Test func `an alarm that is silenced at one node is silent at all`() async throws {
        let tag = try Tag("ops")
        try await TwoNodes.run {
            $0.alarmTag = tag
            $0.alarmRules.silences = ["World": .seconds(900)]
        } _: { nodes in
            let (a, b) = (nodes.a, nodes.b)
            func pass(_ minutes: Int) async throws {
                for _ in 0..<minutes / 5 {
                    for node in [a, b] { node.clock.advance(by: 300) }
                    await a.keepLease()
                    for node in [a, b] { await node.service.alarms.look() }
                    try await nodes.catchUp()
                }
            }
            await a.service.alarms.look()
            try await a.accept("news", tags: "World")
            try await pass(30)
            let alarm = try #require(try await b.alarms().alarms.first)
            #expect(alarm.kind == "silentCategory" && !alarm.isSilenced)
            #expect(try await b.notices() == ["No news in 'World'"], "the node without duties says nothing of its own")
            #expect(try await b.send("PUT", "alarms/\(alarm.id)/silence", as: b.full).status == 200)
            try await pass(10)
            for node in [a, b] { #expect(try await node.alarms().alarms.map(\.isSilenced) == [true]) }
        }
    }

    @Test func `an agent that is connected to any node is not absent`() async throws {
        let (tag, id) = (try Tag("ops"), try InstallationID("desk"))
        try await TwoNodes.run {
            $0.alarmTag = tag
            $0.alarmAgents = [id]
            $0.alarmRules.agentAbsence = .seconds(900)
        } _: { nodes in
            let (a, b) = (nodes.a, nodes.b)
            let agent = Agent("desk")
            try await a.register(agent)
            try await b.service.catchUp()
            let stream = try await b.stream(agent)
            func pass(_ minutes: Int) async throws {
                for _ in 0..<minutes {
                    for node in [a, b] { node.clock.advance(by: 60) }
                    await a.keepLease()
                    await b.service.alarms.look()
                    // The announcement arrives a moment later.
                    await nodes.channel.settle("a")
                    #expect(a.hub.alarms.isElsewhere("desk", at: a.clock.monotonic))
                    await a.service.alarms.look()
                }
            }
            try await pass(40)
            #expect(try await a.alarms().alarms.isEmpty)
            for _ in 0..<40 {
                a.clock.advance(by: 60)
                await a.keepLease()
                await a.service.alarms.look()
            }
            #expect(try await a.alarms().alarms.map(\.kind) == ["absentAgent"])
            _ = stream
        }
    }

    /// Lets an alarm be nearly due at the first node, and the second one take over.
    private func takeOverWithNearAlarm(
        _ body: @escaping (TwoNodes, _ pass: (Int) async throws -> Void) async throws -> Void
    )
        async throws
    {
        let tag = try Tag("ops")
        try await TwoNodes.run {
            $0.alarmTag = tag
            $0.alarmRules.silences = ["World": .seconds(3_000)]
        } _: { nodes in
            let (a, b) = (nodes.a, nodes.b)
            func pass(_ minutes: Int, at node: TestHub) async throws {
                for _ in 0..<minutes / 5 {
                    for node in [a, b] { node.clock.advance(by: 300) }
                    await node.keepLease()
                    await node.service.alarms.look()
                    try await nodes.catchUp()
                }
            }
            await a.service.alarms.look()
            try await a.accept("news", tags: "World")
            try await pass(45, at: a)
            try await a.hub.write(a.hub.alarms.record, in: try #require(a.service.lease.term))
            #expect(try await a.alarms().alarms.isEmpty)
            try await nodes.takeOver()
            try await nodes.catchUp()
            try await body(nodes) { try await pass($0, at: b) }
        }
    }

    @Test func `a node whose first read after a takeover failed lets clients come back before it raises alarms`()
        async throws
    {
        try await takeOverWithNearAlarm { nodes, pass in
            let b = nodes.b
            try await b.hub.store.rename("alarmState", to: "hidden")
            await b.service.alarms.look()
            try await b.hub.store.rename("hidden", to: "alarmState")
            try await pass(10)
            #expect(try await b.alarms().alarms.isEmpty, "the time of the takeover does not count")
            try await pass(15)
            #expect(try await b.alarms().alarms.map(\.kind) == ["silentCategory"])
        }
    }

    @Test func `a silence at another node does not end the time in which a node that has taken over raises no alarm`()
        async throws
    {
        try await takeOverWithNearAlarm { nodes, pass in
            let (a, b) = (nodes.a, nodes.b)
            await b.service.alarms.look()
            try await nodes.catchUp()
            // Another node writes the state that it has, as a silence does.
            try await a.hub.followAlarms()
            try await a.hub.write(a.hub.alarms.record)
            try await nodes.catchUp()
            try await pass(10)
            #expect(try await b.alarms().alarms.isEmpty, "the time of the takeover does not count")
            try await pass(15)
            #expect(try await b.alarms().alarms.map(\.kind) == ["silentCategory"])
        }
    }

    @Test func `a former holder's judgement of alarms is not written`() async throws {
        let tag = try Tag("ops")
        try await TwoNodes.run {
            $0.alarmTag = tag
        } _: { nodes in
            let (a, b) = (nodes.a, nodes.b)
            let term = try #require(a.service.lease.term)
            try await nodes.takeOver()
            await #expect(throws: LeaseLost.self) { try await a.hub.write(a.hub.alarms.record, in: term) }
            await b.service.alarms.look()
            #expect(b.service.lease.current != nil)
        }
    }
}
