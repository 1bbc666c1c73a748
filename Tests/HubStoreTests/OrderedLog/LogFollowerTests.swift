import Foundation
import GRDB
import HubProtocol
import HubRouting
import SharedLog
import Synchronization
import Testing

@testable import HubStore

/// Values that closures on any thread have added.
private final class Kept<Value: Sendable>: Sendable {
    private let kept = Mutex<[Value]>([])

    var values: [Value] { kept.withLock { $0 } }

    func add(_ values: [Value]) { kept.withLock { $0 += values } }
}

struct LogFollowerTests {
    /// Two nodes with the same hub, of which both know.
    private struct Nodes {
        let log = MemoryLog()
        let files: [Scratch]
        let stores: [HubStore]
        let hub: HubKey

        init() async throws {
            files = [try Scratch(), try Scratch()]
            var stores: [HubStore] = []
            for (file, name) in zip(files, ["a", "b"]) {
                stores.append(try await HubStore.joined(file.path, log.node(name)))
            }
            self.stores = stores
            let name = try HubName("news")
            hub = try await stores[0].change { try $0.insertHub(name, rules: [], at: 0) }.id
            try await stores[1].follow { _ in }
        }

        /// Both databases after both have followed.
        func expectEqual(sourceLocation: SourceLocation = #_sourceLocation) async throws {
            for store in stores { try await store.follow { _ in } }
            let (one, other) = (try await files[0].replicated(), try await files[1].replicated())
            #expect(one == other, sourceLocation: sourceLocation)
        }
    }

    private static func append(_ body: String, to hub: HubKey) -> @Sendable (Transaction) throws -> NamespaceEffect {
        { transaction in
            let (id, message) = (MessageID.random(), try Message(body: Array(body.utf8)))
            let record = try MessageRecord(id: id, tags: nil, body: message.body)
            let sequence = try transaction.appendMessage(record, hub: hub, at: 0)
            let routed = RoutedMessage(sequence: sequence, id: id, message, installations: nil)
            return NamespaceEffect(hub, MessageEffect(routed, matched: .nobody))
        }
    }

    private func bodies(_ store: HubStore, _ hub: HubKey) async throws -> [String] {
        try await store.pendingMessages(hub: hub, ordinal: 0, after: 0, through: .end, limit: 100).messages
            .map { String(decoding: $0.body, as: UTF8.self) }
    }

    private func send(
        _ body: String,
        _ store: HubStore,
        _ hub: HubKey,
        foreign: @escaping LogFollower.Foreign = { _ in }
    ) async throws {
        let results = try await store.commit([Self.append(body, to: hub)], effects: { [$0] }, foreign: foreign)
        _ = try results[0].get()
    }

    private let texts = ["{\"n\":\"1\"}", "{\"n\":\"2\"}", "{\"n\":\"3\"}"]

    @Test func `a node that another was ahead of repeats the entry and stages again`() async throws {
        let nodes = try await Nodes()
        try await send(texts[0], nodes.stores[0], nodes.hub)
        let seen = Kept<LoggedEffect>()
        let runs = Kept<Void>()
        let hub = nodes.hub
        let (append, text) = (Self.append(texts[1], to: hub), texts[1])
        let results = try await nodes.stores[1].commit(
            [
                { @Sendable transaction in
                    runs.add([()])
                    return try append(transaction)
                }
            ],
            effects: { [$0] },
            foreign: { effects in seen.add(effects.map(LoggedEffect.init)) }
        )
        let effect = LoggedEffect(try results[0].get())
        #expect(effect == LoggedEffect(MessageEffect.self, hub, 2), "its place is after the other's")
        #expect(runs.values.count == 2)
        #expect(seen.values == [LoggedEffect(MessageEffect.self, hub, 1)])
        #expect(try await bodies(nodes.stores[1], hub) == [texts[0], text])
        try await nodes.expectEqual()
    }

    @Test(arguments: [MemoryLog.Fault.loseEntry, .loseAnswer])
    func `an entry without an answer is in the log once, and later entries follow it`(fault: MemoryLog.Fault)
        async throws
    {
        let nodes = try await Nodes()
        nodes.log.fail(fault)
        await #expect(throws: MemoryLog.noAnswer) { try await send(texts[0], nodes.stores[0], nodes.hub) }
        #expect(try await bodies(nodes.stores[0], nodes.hub) == [], "nothing is kept that may not be in the log")
        let seen = Kept<LoggedEffect>()
        try await send(texts[1], nodes.stores[0], nodes.hub) { effects in
            seen.add(effects.map(LoggedEffect.init))
        }
        #expect(seen.values == [LoggedEffect(MessageEffect.self, nodes.hub, 1)])
        #expect(try await bodies(nodes.stores[0], nodes.hub) == Array(texts.prefix(2)))
        try await nodes.expectEqual()
    }

    @Test func `an entry without an answer whose place another has taken is gone`() async throws {
        let nodes = try await Nodes()
        nodes.log.fail(.loseEntry)
        await #expect(throws: MemoryLog.noAnswer) { try await send(texts[0], nodes.stores[0], nodes.hub) }
        try await send(texts[1], nodes.stores[1], nodes.hub)
        try await send(texts[2], nodes.stores[0], nodes.hub)
        #expect(try await bodies(nodes.stores[0], nodes.hub) == Array(texts.suffix(2)))
        try await nodes.expectEqual()
    }

    @Test func `while nobody answers nothing is staged`() async throws {
        let nodes = try await Nodes()
        nodes.log.fail(.loseAnswer, .loseEntry, .loseEntry)
        for text in texts {
            await #expect(throws: MemoryLog.noAnswer) { try await send(text, nodes.stores[0], nodes.hub) }
        }
        try await nodes.expectEqual()
        #expect(try await bodies(nodes.stores[1], nodes.hub) == [texts[0]], "the only one that reached the log")
    }

    @Test func `changes that a node keeps for itself, and failed ones, are not entries`() async throws {
        let nodes = try await Nodes()
        let before = try nodes.log.entries.count
        try await nodes.stores[0].change { try $0.noteClock(5) }
        let append = Self.append(texts[0], to: nodes.hub)
        await #expect(throws: Refused.self) {
            try await nodes.stores[0].change { transaction in
                _ = try append(transaction)
                throw Refused()
            }
        }
        #expect(try nodes.log.entries.count == before)
        #expect(try await nodes.stores[0].lastSeenClock() == 5)
    }

    @Test func `effects are complete again after replay`() async throws {
        let nodes = try await Nodes()
        let hub = nodes.hub
        let (agent, changed) = (
            try Installation.agent("a", tags: ["World"]), try Installation.agent("a", tags: ["Sports"])
        )
        let registration = Registration(id: .random(), platform: .apns, pushChannel: .handle("ab"))
        let made = try await nodes.stores[0].commit(
            [
                { @Sendable transaction -> [NamespaceEffect] in
                    let write = try transaction.insert(agent, channelDigest: [1], hub: hub, at: 1)
                    let put = try transaction.put(registration, replacing: nil, hub: hub, at: 1)
                    return [Self.effect(write, hub), NamespaceEffect(hub, TargetsEffect([put.change]))]
                }
            ],
            effects: { $0 }
        )
        let stored = try #require(try await nodes.stores[0].installation(hub: hub, id: agent.id))
        let updated = try await nodes.stores[0].commit(
            [
                { @Sendable transaction -> [NamespaceEffect] in
                    let write = try transaction.update(stored, to: changed, channelDigest: [1], hub: hub, at: 2)
                    return [Self.effect(write, hub)]
                }
            ],
            effects: { $0 }
        )
        let seen = Kept<NamespaceEffect>()
        try await nodes.stores[1].follow { effects in seen.add(effects) }
        let expected = try made[0].get() + updated[0].get()
        #expect(seen.values.map(Self.described) == expected.map(Self.described))
    }

    private static func effect(_ write: InstallationWrite, _ hub: HubKey) -> NamespaceEffect {
        NamespaceEffect(
            hub,
            InstallationEffect(
                ordinal: write.stored.ordinal,
                entry: try? Registry.Entry(write.stored),
                sequence: write.sequence,
                targets: write.changes,
                endsStream: false
            )
        )
    }

    /// All that an effect says, in an order of its own.
    private static func described(_ effect: NamespaceEffect) -> String {
        switch effect.effect {
        case let change as InstallationEffect:
            """
            \(effect.hub) \(change.ordinal) \(String(describing: change.sequence)) \(change.endsStream) \
            \(String(describing: change.entry?.id)) \(String(describing: change.entry?.createdSequence)) \
            \(change.targets)
            """
        case let targets as TargetsEffect: "\(effect.hub) \(targets.changes)"
        default: "\(LoggedEffect(effect).bytes)"
        }
    }

    @Test func `a log that ends before a node's place, or is another one, is refused`() async throws {
        let nodes = try await Nodes()
        for text in texts { try await send(text, nodes.stores[0], nodes.hub) }
        let (place, other) = (try await nodes.files[0].place(), try await Nodes())
        nodes.log.change { $0.removeLast(2) }
        let ends = await #expect(throws: OrderedLogError.self) { try await nodes.stores[0].follow { _ in } }
        #expect(ends == .truncated(number: place.number))
        for text in texts + texts { try await send(text, other.stores[0], other.hub) }
        let foreign = try other.log.entries.map(\.encoded)
        nodes.log.change { $0 = foreign }
        let forked = await #expect(throws: OrderedLogError.self) { try await nodes.stores[0].follow { _ in } }
        #expect(forked == .forked(number: place.number + 1))
        #expect(try await bodies(nodes.stores[0], nodes.hub) == texts, "what the node has stays")
    }

    /// A log whose answers about its end are given, whatever it has.
    private struct Claiming: OrderedLog {
        let log: MemoryLog.Node
        var announced: UInt64?
        var ends: @Sendable () throws -> UInt64

        var identity: LogIdentity? { log.identity }
        var serverReport: LogServerReport { log.serverReport }

        func append(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
            try log.append(entry, after: place)
        }

        func read(after place: LogPlace, limit: Int) throws -> [PlacedEntry] {
            try log.read(after: place, limit: limit)
        }

        func end() throws -> UInt64 { try ends() }
        func announcedEnd() -> UInt64? { announced }
        func wakeUps() -> AsyncStream<Void> { log.wakeUps() }
    }

    @Test(arguments: [LogGoal.announced, .entry(4), .end])
    func `a page may have entries that came after the log's answer`(_ goal: LogGoal) async throws {
        let nodes = try await Nodes()
        for text in texts { try await send(text, nodes.stores[0], nodes.hub) }
        try nodes.stores[1].close()
        let claiming = Claiming(log: nodes.log.node("b"), announced: 2, ends: { 2 })
        let store = try HubStore(path: nodes.files[1].path, log: claiming)
        try await store.follow(to: goal) { _ in }
        #expect(store.head.number == 4)
        #expect(try await bodies(store, nodes.hub) == texts)
    }

    @Test(arguments: [LogGoal.announced, .entry(9)])
    func `an entry that the log does not have yet is asked for`(_ goal: LogGoal) async throws {
        let nodes = try await Nodes()
        try await send(texts[0], nodes.stores[0], nodes.hub)
        try nodes.stores[1].close()
        let asked = Kept<Int>()
        let claiming = Claiming(log: nodes.log.node("b"), announced: 9) {
            asked.add([1])
            return 2
        }
        let store = try HubStore(path: nodes.files[1].path, log: claiming)
        try await store.follow(to: goal) { _ in }
        #expect(store.head.number == 2)
        #expect(asked.values.count == 1)
    }

    @Test func `announced entries are followed without a question, unless one may be missing`() async throws {
        let nodes = try await Nodes()
        try await send(texts[0], nodes.stores[0], nodes.hub)
        try nodes.stores[1].close()
        let unasked = Claiming(log: nodes.log.node("b"), announced: 2) { throw MemoryLog.noAnswer }
        var store = try HubStore(path: nodes.files[1].path, log: unasked)
        try await store.follow(to: .announced) { _ in }
        #expect(try await bodies(store, nodes.hub) == [texts[0]])
        try store.close()
        try await send(texts[1], nodes.stores[0], nodes.hub)
        let doubtful = Claiming(log: nodes.log.node("b"), announced: nil) { 3 }
        store = try HubStore(path: nodes.files[1].path, log: doubtful)
        try await store.follow(to: .announced) { _ in }
        #expect(try await bodies(store, nodes.hub) == Array(texts[..<2]))
    }

    @Test func `the furthest goal of several is chosen`() {
        #expect(LogGoal.furthest(of: []) == nil)
        #expect(LogGoal.furthest(of: [.announced]) == .announced)
        #expect(LogGoal.furthest(of: [.entry(3), .announced, .entry(5), .entry(4)]) == .entry(5))
        #expect(LogGoal.furthest(of: [.entry(3), .end, .entry(5)]) == .end)
    }

    @Test func `an entry of a newer schema is left alone`() async throws {
        let nodes = try await Nodes()
        let place = try await nodes.files[0].place()
        let entry = LogEntry(
            previous: place.entry,
            schema: Schema.version + 1,
            node: "new",
            statements: [RecordedStatement(sql: "INSERT INTO tomorrow VALUES (1)", values: [], changes: 1)],
            effects: []
        )
        #expect(try nodes.log.node("new").append(entry, after: place) == .accepted(place.number + 1))
        let error = await #expect(throws: OrderedLogError.self) { try await nodes.stores[0].follow { _ in } }
        #expect(error == .newerSchema(number: place.number + 1, node: "new"))
        #expect(try await nodes.files[0].place() == place)
    }

    @Test func `a database that follows a log is read and not written without one`() async throws {
        let nodes = try await Nodes()
        for (store, file) in zip(nodes.stores, nodes.files) {
            try store.close()
            let alone = try HubStore(path: file.path)
            #expect(try await alone.hubs().map(\.id) == [nodes.hub])
            let error = await #expect(throws: HubStoreError.self) {
                try await alone.change { try $0.insertHub(try HubName("other"), rules: [], at: 0) }
            }
            #expect(error.map { "\($0)".contains("without its log") } == true)
        }
    }

    @Test func `an embedded log is never asked`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        try await store.append(hub)
        try await store.follow { _ in Issue.record("nobody else writes") }
        #expect(try await scratch.place() == .beginning)
    }
}
