import Foundation
import HubProtocol
import HubRouting
import SharedLog
import Testing

@testable import HubStore

/// Three nodes write in random order, lose entries and answers, and start again.
///
/// Each change appends a message of its own, so that the log shows the order of all changes that count. A model makes the
/// same changes in this order.
struct MergeTests {
    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// A change whose result depends on the changes before it.
    private enum Change: Sendable {
        case message
        /// A message with an idempotency key, sent unless the key is known.
        case keyed(String)
        case categories([String])
        case takeover(by: String)
        /// Fails after it has written.
        case failing

        static func random(_ random: inout SplitMix) -> Change {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: .keyed("\(Int.random(in: 0..<4, using: &random))")
            case 1: .categories((0...Int.random(in: 0..<3, using: &random)).map { "c\($0)" })
            case 2: .takeover(by: "\(Int.random(in: 0..<MergeTests.nodes, using: &random))")
            case 3: .failing
            default: .message
            }
        }

        /// - Returns: The sequence of the change's message, or of the first message with its key.
        func make(_ body: String, on hub: HubKey, _ transaction: Transaction) throws -> LogSequence {
            if case .keyed(let key) = self, let first = try transaction.acceptedMessage(hub: hub, key: key) {
                guard let sequence = Int64(String(decoding: first.contentHash, as: UTF8.self)) else { throw Refused() }
                return LogSequence(rawValue: sequence)
            }
            let record = try MessageRecord(id: .random(), tags: nil, body: Array(body.utf8))
            let sequence = try transaction.appendMessage(record, hub: hub, at: 0)
            switch self {
            case .message: break
            case .keyed(let key):
                // The hash stands for the place of the message.
                let place = Array("\(sequence.rawValue)".utf8)
                try transaction.recordKey(key, hub: hub, message: record.id, contentHash: place, at: 0)
            case .categories(let names): try transaction.setCategories(names, publisher: "p", hub: hub)
            case .takeover(let node): _ = try transaction.takeLease(by: node)
            case .failing: throw Refused()
            }
            return sequence
        }
    }

    /// The state that changes in the order of the log lead to.
    private struct Model {
        var keys: [String: LogSequence] = [:]
        var categories: [String] = []
        var holder: String?
        var term: Int64 = 0

        mutating func make(_ change: Change, at sequence: LogSequence) {
            switch change {
            case .message: break
            case .keyed(let key):
                #expect(keys[key] == nil, "a key counts once")
                keys[key] = sequence
            case .categories(let names): categories = names
            case .takeover(let node): (holder, term) = (node, term + 1)
            case .failing: Issue.record("a change that failed is in the log")
            }
        }
    }

    private static let isLong = ProcessInfo.processInfo.environment["NEWSWIRE_LONG"] != nil
    private static let seeds: ClosedRange<UInt64> = 1...(isLong ? 3_000 : 40)
    private static let nodes = 3
    private static let steps = 40

    @Test(arguments: seeds)
    func `what was acknowledged is at every node once, in one order`(seed: UInt64) async throws {
        var random = SplitMix(state: seed)
        let (log, name) = (MemoryLog(), try HubName("news"))
        let files = try (0..<Self.nodes).map { _ in try Scratch() }
        func open(_ node: Int) async throws -> HubStore {
            try await HubStore.joined(files[node].path, log.node("\(node)"))
        }
        var stores: [HubStore] = []
        for node in files.indices { stores.append(try await open(node)) }
        let hub = try await stores[0].change { try $0.insertHub(name, rules: [], at: 0) }.id
        for store in stores { try await store.follow { _ in } }
        var (sent, acknowledged): ([String: Change], [String: LogSequence]) = ([:], [:])
        for step in 0..<Self.steps {
            let node = Int.random(in: 0..<Self.nodes, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                try stores[node].close()
                stores[node] = try await open(node)
            case 1: log.fail(Bool.random(using: &random) ? .loseEntry : .loseAnswer)
            case 2:
                do { try await stores[node].follow { _ in } } catch let error as OrderedLogError
                    where error == MemoryLog.noAnswer
                {}
            default:
                let changes = (0..<Int.random(in: 1...3, using: &random)).map { number in
                    ("{\"n\":\"\(step)-\(number)\"}", Change.random(&random))
                }
                for (body, change) in changes { sent[body] = change }
                acknowledged.merge(try await make(changes, stores[node], hub)) { $1 }
            }
        }
        log.heal()
        // A node may settle an entry that is new to those before it.
        for store in stores + stores { try await store.follow { _ in } }
        try await expectEqual(files)
        var model = Model()
        var places: [String: LogSequence] = [:]
        let messages = try await stores[0].pendingMessages(hub: hub, ordinal: 0, after: 0, through: .end, limit: 1_000)
        for message in messages.messages {
            let body = String(decoding: message.body, as: UTF8.self)
            #expect(places[body] == nil, "it is there once")
            places[body] = message.sequence
            model.make(try #require(sent[body]), at: message.sequence)
        }
        for (body, place) in acknowledged {
            if case .keyed(let key) = sent[body] {
                #expect(model.keys[key] == place)
            } else {
                #expect(places[body] == place)
            }
        }
        let lease = try await stores[0].lease()
        #expect(lease.node == model.holder && lease.term == model.term)
        #expect(try await stores[0].categories(hub: hub) == model.categories)
        let keys = model.keys
        try await stores[1].change { transaction in
            for (key, sequence) in keys {
                let first = try Change.keyed(key).make("", on: hub, transaction)
                #expect(first == sequence)
            }
        }
    }

    /// - Returns: The sequences of changes that were acknowledged.
    private func make(
        _ changes: [(body: String, change: Change)],
        _ store: HubStore,
        _ hub: HubKey
    ) async throws -> [String: LogSequence] {
        let members = changes.map { body, change in
            { @Sendable (transaction: Transaction) in try change.make(body, on: hub, transaction) }
        }
        do {
            var sequences: [String: LogSequence] = [:]
            for ((body, _), result) in zip(changes, try await store.commit(members)) {
                do { sequences[body] = try result.get() } catch is Refused {}
            }
            return sequences
        } catch let error as OrderedLogError where error == MemoryLog.noAnswer {
            return [:]
        }
    }

    private func expectEqual(_ files: [Scratch]) async throws {
        let first = try await files[0].replicated()
        for file in files.dropFirst() {
            let other = try await file.replicated()
            #expect(first == other)
        }
    }
}
