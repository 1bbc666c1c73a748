import Foundation
import Testing

@testable import SubscriberAgent

/// Kills an agent's store at random points of receiving and handling, and compares with what a model is owed.
@Suite(.timeLimit(.minutes(10))) struct CrashTests {
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        // SplitMix64: the same run for the same seed.
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `whatever the kills, the inbox has each once and repeats are marked`(seed: UInt64) async throws {
        let scratch = try Scratch()
        let path = scratch.file("agent.sqlite")
        var dice = Dice(state: seed)
        var store = try AgentStore(path: path)
        try await store.choose(["World"])
        let total = 120
        var handled: [(id: String, isRedelivery: Bool)] = []
        var kills = 0
        var settlement: AgentStore.Settlement?

        func kill() throws {
            store.close()
            store = try AgentStore(path: path)
            settlement = nil
            kills += 1
        }

        while Set(handled.map(\.id)).count < total {
            // The hub replays from the cursor, and at times from somewhat before it.
            let cursor = try await store.record().cursor
            let position = cursor.flatMap { Int($0.dropFirst(2)) } ?? 0
            let start = max(0, position - Int.random(in: 0...3, using: &dice))
            let end = min(total, start + Int.random(in: 0...6, using: &dice))
            for number in start..<max(start, end) {
                // Pairs share a sequence: only the second carries the id.
                let id = number % 2 == 1 || number == total - 1 ? "e-\(number + 1)" : nil
                try await store.receive([.sample(number)], cursor: id, at: .sample)
                if Int.random(in: 0..<25, using: &dice) == 0 {
                    try kill()
                    break
                }
            }
            for _ in 0..<Int.random(in: 0...5, using: &dice) {
                let row = try await store.startNext(settling: settlement)
                settlement = nil
                guard let row else { break }
                if Int.random(in: 0..<25, using: &dice) == 0 {
                    try kill()
                    break
                }
                handled.append((row.id, row.isRedelivery))
                settlement = .done(row.ordinal)
                if Int.random(in: 0..<25, using: &dice) == 0 { try kill() }
            }
        }
        if let settlement { try await store.settle(settlement) }

        let expected = (0..<total).map { "m\($0)" }
        let rows = try await store.records(last: 1_000, states: InboxRecord.State.allCases)
        #expect(rows.map(\.id) == expected)
        var seen: Set<String> = []
        let firsts = handled.filter { seen.insert($0.id).inserted }
        #expect(firsts.map(\.id) == expected, "in order, none left out")
        #expect(handled.filter(\.isRedelivery).count <= kills)
        seen = []
        let unmarked = handled.filter { !seen.insert($0.id).inserted && !$0.isRedelivery }
        #expect(unmarked.isEmpty, "a repeat without its mark")
    }
}
