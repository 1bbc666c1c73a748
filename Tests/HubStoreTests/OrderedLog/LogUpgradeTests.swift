import GRDB
import HubProtocol
import HubRouting
import SharedLog
import Testing

@testable import HubStore

/// Nodes of two versions, of which the newer one has one migration more.
struct LogUpgradeTests {
    /// The next version's migration, which has other results when it runs before or after an entry.
    private static var newer: DatabaseMigrator {
        var migrator = Schema.migrator
        migrator.registerMigration("later") { db in
            try db.execute(sql: "ALTER TABLE log ADD COLUMN note TEXT; UPDATE log SET note = 'before'")
        }
        return migrator
    }

    private struct Nodes {
        let log = MemoryLog()
        let files: [String: Scratch]
        let hub: HubKey

        /// A hub with one message, by node `a` of the earlier version.
        init() async throws {
            files = ["a": try Scratch(), "b": try Scratch(), "c": try Scratch()]
            let name = try HubName("news")
            let store = try HubStore(path: files["a"]?.path ?? "", log: log.node("a"))
            try await store.join()
            hub = try await store.change { try $0.insertHub(name, rules: [], at: 0) }.id
            try await store.append(hub)
            try store.close()
        }

        /// Opens the file of a node that begins to follow.
        func open(_ name: String, _ migrator: DatabaseMigrator = Schema.migrator) async throws -> HubStore {
            let store = try HubStore(path: try #require(files[name]).path, migrator: migrator, log: log.node(name))
            try await store.join()
            try await store.follow { _ in }
            return store
        }

        func notes(_ name: String) async throws -> [String?] {
            try await #require(files[name]).read { try Optional<String>.fetchAll($0, sql: "SELECT note FROM log") }
        }

        func schema(_ name: String) async throws -> Int {
            try await #require(files[name]).read { try Schema.migrator.appliedIdentifiers($0).count }
        }

        func expectEqual(_ one: String, _ other: String, sourceLocation: SourceLocation = #_sourceLocation) async throws
        {
            let (one, other) = (try #require(files[one]), try #require(files[other]))
            #expect(try await one.replicated() == other.replicated(), sourceLocation: sourceLocation)
        }
    }

    @Test func `all nodes change their schema at the same entry`() async throws {
        let nodes = try await Nodes()
        let older = try await nodes.open("a")
        let b = try await nodes.open("b", Self.newer)
        #expect(b.awaitsUpgrade && !older.awaitsUpgrade)
        #expect(try await nodes.schema("b") == Schema.version)
        try await older.append(nodes.hub)
        try await b.upgradeLog()
        #expect(!b.awaitsUpgrade)
        #expect(try await nodes.notes("b") == ["before", "before"])
        let error = await #expect(throws: OrderedLogError.self) { try await older.append(nodes.hub) }
        #expect(error == .newerSchema(number: 4, node: "b"))
        try await b.append(nodes.hub)
        try older.close()
        // It was stopped while others went on.
        let a = try await nodes.open("a", Self.newer)
        #expect(!a.awaitsUpgrade)
        #expect(try await nodes.notes("a") == ["before", "before", nil])
        try await a.append(nodes.hub)
        try await b.follow { _ in }
        // A new machine has the schema of each entry when it gets to it.
        let c = try await nodes.open("c", Self.newer)
        #expect(!c.awaitsUpgrade)
        try await nodes.expectEqual("a", "b")
        try await nodes.expectEqual("a", "c")
    }

    @Test func `of several nodes one changes the log`() async throws {
        let nodes = try await Nodes()
        let (b, c) = (try await nodes.open("b", Self.newer), try await nodes.open("c", Self.newer))
        async let one: Void = b.upgradeLog()
        async let other: Void = c.upgradeLog()
        _ = try await (one, other)
        for store in [b, c] {
            try await store.follow { _ in }
            #expect(!store.awaitsUpgrade)
            try await store.upgradeLog()
        }
        #expect(try nodes.log.entries.count { $0.schema > Schema.version } == 1)
        try await nodes.expectEqual("b", "c")
    }

    @Test(arguments: [MemoryLog.Fault.loseEntry, .loseAnswer])
    func `a change of the log without an answer is made once`(_ fault: MemoryLog.Fault) async throws {
        let nodes = try await Nodes()
        let b = try await nodes.open("b", Self.newer)
        nodes.log.fail(fault)
        await #expect(throws: MemoryLog.noAnswer) { try await b.upgradeLog() }
        #expect(b.awaitsUpgrade)
        #expect(try await nodes.schema("b") == Schema.version)
        try await b.upgradeLog()
        #expect(!b.awaitsUpgrade)
        #expect(try nodes.log.entries.count == 3)
    }

    @Test func `a node that ends between the entry and its migration makes it at the next start`() async throws {
        let nodes = try await Nodes()
        var b = try await nodes.open("b", Self.newer)
        nodes.log.fail(.loseAnswer)
        await #expect(throws: MemoryLog.noAnswer) { try await b.upgradeLog() }
        try b.close()
        b = try await nodes.open("b", Self.newer)
        #expect(!b.awaitsUpgrade)
        #expect(try await nodes.notes("b") == ["before"])
    }

    @Test func `the first node of a log begins with its own schema`() async throws {
        let (log, scratch) = (MemoryLog(), try Scratch())
        let store = try HubStore(path: scratch.path, migrator: Self.newer, log: log.node("a"))
        try await store.join()
        #expect(!store.awaitsUpgrade)
        #expect(try await scratch.read { try Self.newer.hasCompletedMigrations($0) })
        // So does a hub that was alone before.
        let own = try Scratch()
        let (alone, hub) = try await own.store()
        try await alone.append(hub)
        try alone.close()
        let joined = try HubStore(path: own.path, migrator: Self.newer, log: MemoryLog().node("a"))
        try await joined.join()
        #expect(!joined.awaitsUpgrade)
    }

    @Test func `a file that waits for its log is not used without it`() async throws {
        let nodes = try await Nodes()
        let path = try #require(nodes.files["a"]).path
        let error = #expect(throws: HubStoreError.self) { try HubStore(path: path, migrator: Self.newer) }
        #expect(error.map { "\($0)" }?.contains("without its log") == true)
        try LogMembership.end(path)
        let store = try HubStore(path: path, migrator: Self.newer)
        #expect(try await store.hubs().map(\.id) == [nodes.hub])
    }

    @Test func `a node without content that stops before its first entry begins again`() async throws {
        let nodes = try await Nodes()
        let path = try #require(nodes.files["b"]).path
        let queue = try DatabaseQueue(path: path)
        // It had made a part of the schema of the log's first entry, or all of it.
        for count in [3, Schema.version] {
            try Schema.migrator.migrate(queue, upTo: Schema.migrator.migrations[count - 1])
            let store = try HubStore(path: path, migrator: Self.newer, log: nodes.log.node("b"))
            try await store.join()
            #expect(try await nodes.schema("b") == count)
            try store.close()
        }
        try queue.close()
        let b = try await nodes.open("b", Self.newer)
        try await b.upgradeLog()
        #expect(try await nodes.notes("b") == ["before"])
        // In an empty log it has its own schema.
        let first = try HubStore(path: path + "2", log: MemoryLog().node("x"))
        try first.close()
        let again = try HubStore(path: path + "2", migrator: Self.newer, log: MemoryLog().node("x"))
        try await again.join()
        #expect(!again.awaitsUpgrade)
    }

    @Test func `a node may be two schemas behind`() async throws {
        var latest = Self.newer
        latest.registerMigration("latest") { db in
            try db.execute(sql: "ALTER TABLE log ADD COLUMN more TEXT; UPDATE log SET more = note || sequence")
        }
        let nodes = try await Nodes()
        let b = try await nodes.open("b", Self.newer)
        try await b.upgradeLog()
        try await b.append(nodes.hub)
        try b.close()
        let again = try await nodes.open("b", latest)
        #expect(again.awaitsUpgrade)
        try await again.upgradeLog()
        try await again.append(nodes.hub)
        for name in ["a", "c"] {
            let store = try await nodes.open(name, latest)
            #expect(!store.awaitsUpgrade)
            try await nodes.expectEqual(name, "b")
        }
        #expect(try await nodes.notes("a") == ["before", nil, nil])
    }

    @Test func `another log's schema changes nothing`() async throws {
        let nodes = try await Nodes()
        let b = try await nodes.open("b", Self.newer)
        try await b.upgradeLog()
        nodes.log.change { entries in
            guard let last = try? LogEntry(encoded: entries[2]) else { return }
            let forked = LogEntry(previous: .random(), schema: last.schema, node: "x", statements: [], effects: [])
            entries[2] = forked.encoded
        }
        let error = await #expect(throws: OrderedLogError.self) { try await nodes.open("a", Self.newer) }
        #expect(error == .forked(number: 3))
        #expect(try await nodes.schema("a") == Schema.version)
    }

    @Test func `an entry of an earlier schema than the database's is refused`() async throws {
        let nodes = try await Nodes()
        let b = try await nodes.open("b", Self.newer)
        try b.close()
        let older = try await nodes.open("a")
        try await older.append(nodes.hub)
        let queue = try DatabaseQueue(path: try #require(nodes.files["b"]).path)
        try Self.newer.migrate(queue)
        try queue.close()
        let error = await #expect(throws: OrderedLogError.self) { try await nodes.open("b", Self.newer) }
        #expect(error == .olderSchema(number: 3, node: "a"))
    }
}
