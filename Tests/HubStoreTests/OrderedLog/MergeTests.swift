import Foundation
import HubProtocol
import HubRouting
import SharedLog
import Testing

@testable import HubStore

/// Three nodes write in random order, lose entries and answers, and start again.
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

    private static let nodes = 3
    private static let steps = 40

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `what was acknowledged is at every node once, in one order`(seed: UInt64) async throws {
        var random = SplitMix(state: seed)
        let (log, name) = (MemoryLog(), try HubName("news"))
        let files = try (0..<Self.nodes).map { _ in try Scratch() }
        func open(_ node: Int) throws -> HubStore {
            try HubStore(path: files[node].path, log: log.node("\(node)"))
        }
        var stores = try files.indices.map(open)
        let hub = try await stores[0].change { try $0.insertHub(name, rules: [], at: 0) }.id
        for store in stores { try await store.follow { _ in } }
        var (sent, acknowledged): (Set<String>, Set<String>) = ([], [])
        for step in 0..<Self.steps {
            let node = Int.random(in: 0..<Self.nodes, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                try stores[node].close()
                stores[node] = try open(node)
            case 1: log.fail(Bool.random(using: &random) ? .loseEntry : .loseAnswer)
            case 2:
                do { try await stores[node].follow { _ in } } catch let error as OrderedLogError
                    where error == MemoryLog.noAnswer
                {}
            default:
                let bodies = (0..<Int.random(in: 1...3, using: &random)).map { "{\"n\":\"\(step)-\($0)\"}" }
                sent.formUnion(bodies)
                if try await send(bodies, stores[node], hub) { acknowledged.formUnion(bodies) }
            }
        }
        log.heal()
        // A node may settle an entry that is new to those before it.
        for store in stores + stores { try await store.follow { _ in } }
        try await expectEqual(files)
        let kept = try await stores[0].owedMessages(hub: hub, ordinal: 0, after: 0, through: .end, limit: 1_000)
            .messages.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(Set(kept).count == kept.count, "none is there twice")
        #expect(acknowledged.subtracting(kept) == [])
        #expect(Set(kept).subtracting(sent) == [])
    }

    /// - Returns: True if all messages were acknowledged; false if none was.
    private func send(_ bodies: [String], _ store: HubStore, _ hub: HubKey) async throws -> Bool {
        let members = bodies.map { body in
            { @Sendable (transaction: Transaction) throws in
                let record = try MessageRecord(id: .random(), tags: nil, body: Array(body.utf8))
                _ = try transaction.appendMessage(record, hub: hub, at: 0)
            }
        }
        do {
            for result in try await store.commit(members) { try result.get() }
            return true
        } catch let error as OrderedLogError where error == MemoryLog.noAnswer {
            return false
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
