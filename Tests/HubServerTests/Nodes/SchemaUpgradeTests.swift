import GRDB
import HubProtocol
import HubRouting
import Logging
import SharedLog
import Synchronization
import Testing

@testable import HubServer
@testable import HubStore

struct SchemaUpgradeTests {
    /// Node `a` of the earlier version, which has the log, and `b`, which has one migration more.
    private struct Nodes {
        let files: [Scratch]
        let log = MemoryLog()
        let channel = MemoryChannel()
        let a: HubStore
        let b: HubStore

        init() async throws {
            files = [try Scratch(), try Scratch()]
            a = try HubStore(path: files[0].path, log: log.node("a"))
            try await a.join()
            let hub = try HubName("news")
            let insert = { @Sendable (transaction: Transaction) throws in
                _ = try transaction.insertHub(hub, rules: [], at: Timestamp(milliseconds: 0))
            }
            _ = try await a.commit([insert])[0].get()
            var migrator = Schema.migrator
            migrator.registerMigration("later") { try $0.execute(sql: "ALTER TABLE log ADD COLUMN note TEXT") }
            b = try HubStore(path: files[1].path, migrator: migrator, log: log.node("b"))
            try await b.join()
            try await b.follow { _ in }
        }

        func others(_ store: HubStore, _ name: String) -> OtherNodes {
            OtherNodes(
                channel.node(name),
                of: store,
                named: name,
                version: "1",
                eligibility: LeaseEligibility(
                    clocks: NodeClocks(wall: { 0 }, monotonic: { .zero }, servers: { [:] }),
                    proof: KeyProof(SecretBox(key: Array(repeating: 1, count: SecretBox.keyBytes)))
                ),
                servers: { LogServerReport() }
            )
        }

        /// Nodes without a report for a second are gone.
        func upgrade(_ waiting: @escaping @Sendable (String) -> Void) -> SchemaUpgrade {
            SchemaUpgrade(
                store: b,
                others: others(b, "b"),
                channel: channel.node("b"),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                patience: .seconds(1),
                listening: .milliseconds(200),
                interval: .milliseconds(1),
                waiting: waiting
            )
        }

        /// Node `a` makes a change.
        func send() async throws {
            let send = { @Sendable (transaction: Transaction) throws in
                let record = try MessageRecord(id: .random(), tags: nil, body: Array("{}".utf8))
                let hub = try #require(transaction.hubs().first).record.id
                _ = try transaction.appendMessage(record, hub: hub, at: Timestamp(milliseconds: 0))
            }
            _ = try await a.commit([send])[0].get()
        }
    }

    @Test func `a node waits while one of an earlier schema reports, and follows it`() async throws {
        let nodes = try await Nodes()
        let a = nodes.others(nodes.a, "a")
        let texts = Mutex<[String]>([])
        let upgrade = nodes.upgrade { text in
            let count = texts.withLock { texts in
                texts.append(text)
                return texts.count { $0.hasSuffix(": a") }
            }
            // It reports until it has been heard a hundred times, and is then stopped.
            if count < 100 { a.announcePresence() }
        }
        try await nodes.send()
        try await upgrade.run()
        #expect(texts.withLock { $0.count { $0.hasSuffix(": a") } } >= 100)
        #expect(!nodes.b.awaitsUpgrade)
        let entries = try nodes.log.entries
        #expect(entries.map(\.node) == ["a", "a", "b"])
        #expect(nodes.b.head.number == 3)
        let error = await #expect(throws: OrderedLogError.self) { try await nodes.send() }
        #expect(error == .newerSchema(number: 3, node: "b"))
    }

    @Test func `a node that stops says so, and is not waited for`() async throws {
        let nodes = try await Nodes()
        let a = nodes.others(nodes.a, "a")
        let heard = Mutex(false)
        let begin = ContinuousClock.now
        var upgrade = nodes.upgrade { text in
            let isHeard = heard.withLock { heard in
                heard = heard || text.hasSuffix(": a")
                return heard
            }
            a.announcePresence(isLeaving: isHeard)
        }
        upgrade.patience = .seconds(3_600)
        try await upgrade.run()
        #expect(heard.withLock { $0 })
        #expect(.now - begin < .seconds(3_000))
    }

    @Test func `a node that could not hear others does not take them for gone`() async throws {
        let nodes = try await Nodes()
        let a = nodes.others(nodes.a, "a")
        let state = Mutex((looks: 0, awaySince: ContinuousClock.Instant?.none, isBack: false))
        let upgrade = nodes.upgrade { _ in
            state.withLock { state in
                state.looks += 1
                if state.looks < 50 { a.announcePresence() }
                if state.looks == 50 {
                    state.awaySince = .now
                    nodes.log.setAway(true)
                }
                // The log is back when no report has arrived for longer than nodes are waited for.
                guard let since = state.awaySince, .now - since > .milliseconds(1_200) else { return }
                if state.isBack {
                    a.announcePresence()
                    state.awaySince = nil
                }
                nodes.log.setAway(false)
                state.isBack = true
            }
        }
        try await upgrade.run()
        #expect(state.withLock { $0.isBack && $0.awaySince == nil }, "it listens again before it decides")
        #expect(try nodes.log.entries.map(\.node) == ["a", "b"])
    }

    @Test func `nodes of the same version do not wait for each other, and the log may be away`() async throws {
        let nodes = try await Nodes()
        let calls = Mutex(0)
        let upgrade = nodes.upgrade { _ in
            let count = calls.withLock { calls in
                calls += 1
                return calls
            }
            nodes.log.setAway(count < 5)
            // Another node of the new version waits, too.
            nodes.others(nodes.b, "c").announcePresence()
        }
        try await upgrade.run()
        #expect(!nodes.b.awaitsUpgrade)
        // A node whose database has the schema does not wait at all.
        let again = nodes.upgrade { _ in Issue.record("it waits") }
        try await again.run()
    }

    @Test func `a report says the schema, and one without it is from an earlier version`() async throws {
        let nodes = try await Nodes()
        let (a, b) = (nodes.others(nodes.a, "a"), nodes.others(nodes.b, "b"))
        let begin = ContinuousClock.now
        var announcements = nodes.channel.node("x").announcements().makeAsyncIterator()
        for other in [a, b] {
            other.announcePresence()
            let announcement = try #require(await announcements.next())
            b.note(presence: announcement.dropFirst())
        }
        #expect(b.older(since: begin) == ["a"])
        #expect(b.older(since: .now) == [])
        var writer = EntryWriter()
        writer.append(text: "old")
        writer.append(text: "0.1")
        writer.append(number: 7)
        b.note(presence: writer.bytes[...])
        #expect(b.older(since: begin) == ["a", "old"])
        #expect(a.older(since: begin) == [])
    }
}
