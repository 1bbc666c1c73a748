import Foundation
import GRDB
import HubProtocol
import HubRouting
import Testing

@testable import HubStore

/// Messages on their way to push services, as the store has them.
struct DeliveryTests {
    /// A message for the first `count` ordinals of APNs.
    private func deliver(
        _ store: HubStore,
        _ hub: HubKey,
        to count: Int64 = 3,
        at: Timestamp = 0
    ) async throws -> DeliveryKey {
        let sequence = try await store.append(hub, at: at)
        let key = DeliveryKey(sequence: sequence, platform: .apns)
        try await store.change {
            try $0.insertDelivery(key, hub: hub, targets: OrdinalSet((1...count).map { Ordinal(rawValue: $0) }))
        }
        return key
    }

    private func retry(_ key: DeliveryKey, _ ordinal: Ordinal, attempts: Int = 1, dueAt: Timestamp) -> DeliveryRetry {
        DeliveryRetry(key: key, ordinal: ordinal, attempts: attempts, dueAt: dueAt, reason: "503")
    }

    private func record(_ progress: DeliveryProgress, of key: DeliveryKey, _ store: HubStore, _ hub: HubKey)
        async throws -> Int
    {
        try await store.change { try $0.record(progress, of: key, hub: hub, at: 7) }
    }

    private func rows(_ table: String, _ scratch: Scratch) async throws -> Int {
        try await scratch.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") } ?? -1
    }

    // MARK: - Progress

    @Test func `a retry of a target that has its outcome is not stored`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let key = try await deliver(store, hub)
        var progress = DeliveryProgress()
        progress.done[1] = .success
        progress.retries = [retry(key, 1, dueAt: 9), retry(key, 2, dueAt: 9)]
        #expect(try await record(progress, of: key, store, hub) == 1)
        #expect(try await store.deliveryStates(of: key.sequence).first?.retries == 1, "in the same change")
        // An answer that comes after a later message has made this one superfluous.
        var late = DeliveryProgress()
        late.retries = [retry(key, 1, attempts: 2, dueAt: 9)]
        #expect(try await record(late, of: key, store, hub) == 0)
        #expect(try await store.deliveryStates(of: key.sequence).first?.retries == 1)
        #expect(try await store.targetState(of: 2, in: key) == .waits(retry(key, 2, dueAt: 9)))

        var rest = DeliveryProgress()
        rest.done = [2: .success, 3: .success]
        #expect(try await record(rest, of: key, store, hub) == 2)
        late.retries = [1, 2, 3].map { retry(key, $0, attempts: 3, dueAt: 9) }
        #expect(try await record(late, of: key, store, hub) == 0)
        #expect(try await rows("deliveryRetry", scratch) == 0, "nor of a delivery that has ended")
        #expect(try await store.openDelivery(key) == nil)
    }

    @Test func `outcomes that are written twice count once`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let key = try await deliver(store, hub)
        var progress = DeliveryProgress()
        progress.done = [1: .success, 2: .wrongToken]
        progress.failures = [DeliveryFailure(ordinal: 2, outcome: .wrongToken, reason: "no")]
        let counts = [try await record(progress, of: key, store, hub), try await record(progress, of: key, store, hub)]
        #expect(counts == [2, 0])
        let state = try await store.deliveryStates(of: key.sequence).first
        #expect(state?.outcomes == [.success: 1, .wrongToken: 1] && state?.delivery.remaining == 1)
        #expect(try await store.untried(of: key, afterBlock: -1)?.targets == OrdinalSet([3]))
    }

    @Test func `a block of targets that all have their outcome is deleted`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let key = DeliveryKey(sequence: try await store.append(hub, at: 0), platform: .apns)
        let targets = OrdinalSet([1, 2, 65_537, 65_538])
        try await store.change { try $0.insertDelivery(key, hub: hub, targets: targets) }
        var progress = DeliveryProgress()
        progress.done = [1: .success, 65_537: .success]
        progress.retries = [retry(key, 2, dueAt: 9)]
        #expect(try await record(progress, of: key, store, hub) == 2)
        #expect(try await rows("deliveryBlock", scratch) == 2, "a target that is tried again is in the first one")
        progress = DeliveryProgress()
        progress.done = [2: .success]
        #expect(try await record(progress, of: key, store, hub) == 1)
        #expect(try await rows("deliveryBlock", scratch) == 1)
        #expect(try await record(progress, of: key, store, hub) == 0, "once more")
        progress.done = [:]
        progress.retries = [retry(key, 1, attempts: 2, dueAt: 9)]
        #expect(try await record(progress, of: key, store, hub) == 0, "an answer that comes late")
        #expect(try await rows("deliveryRetry", scratch) == 0)
        #expect(try await store.targetState(of: 1, in: key) == .ended)
        #expect(try await store.untried(of: key, afterBlock: -1)?.targets == OrdinalSet([65_538]))
        try await store.change { _ = try $0.end(key, as: .abandoned, at: 9) }
        #expect(try await store.failedTargets(of: key, limit: 9).map(\.failure.ordinal) == [65_538])
    }

    // MARK: - Retries

    @Test func `retries are due by time, and those of a clock that was ahead at once`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let key = try await deliver(store, hub, to: 5)
        var progress = DeliveryProgress()
        progress.retries = [
            retry(key, 1, dueAt: 900), retry(key, 2, dueAt: 1_000), retry(key, 3, dueAt: 1_001),
            retry(key, 4, dueAt: 2_000), retry(key, 5, dueAt: 2_001),
        ]
        _ = try await record(progress, of: key, store, hub)
        func due(_ limit: Int) async throws -> [Ordinal] {
            try await store.dueRetries(hub: hub, platform: .apns, at: 1_000, latest: 2_000, limit: limit)
                .map(\.ordinal)
        }
        #expect(try await due(9) == [1, 2, 5])
        #expect(try await due(2) == [1, 2])
        #expect(try await store.nextRetry(hub: hub, platform: .apns, after: 1_000) == 1_001)
    }

    // MARK: - Dead handles

    @Test func `dead handles are kept for each hub, with the registrations that went with them`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let name = try HubName("other")
        let other = try await store.change { try $0.insertHub(name, rules: [], at: 0) }.id
        let registration = Registration(id: try RegistrationID("1-1-1"), platform: .apns, pushChannel: .handle("aa"))
        let stored = try await store.change { try $0.put(registration, replacing: nil, hub: hub, at: 1).stored }
        let key = try await deliver(store, hub)
        var progress = DeliveryProgress()
        progress.done = [1: .expiredChannel, 2: .wrongToken]
        progress.failures = [
            DeliveryFailure(ordinal: stored.ordinal, outcome: .expiredChannel, reason: "410", deadHandle: "aa"),
            DeliveryFailure(ordinal: 2, outcome: .wrongToken, reason: "no"),
        ]
        _ = try await record(progress, of: key, store, hub)
        try await store.change { _ = try $0.delete(stored, tombstone: true, hub: hub, at: 8) }

        #expect(try await store.deadHandleDays(hub: hub, limit: 9) == [DeadHandleDay(day: 0, count: 1)])
        #expect(try await store.deadHandleDays(hub: other, limit: 9) == [])
        let reports = try await store.deadHandles(hub: hub, from: 0, to: 8, offset: 0, limit: 9)
        #expect(reports.map(\.target.handle) == ["aa"] && reports.map(\.target.at) == [7])
        #expect(reports.map(\.target.registration) == [registration.id])
        #expect(try await store.deadHandles(hub: hub, from: 0, to: 7, offset: 0, limit: 9).isEmpty)
        #expect(try await store.deadHandles(hub: hub, from: 0, to: 8, offset: 1, limit: 9).isEmpty)
        let failed = try await store.failedTargets(of: key, limit: 9)
        #expect(failed.map(\.registration) == [registration.id, nil] && failed.map(\.handle) == ["aa", nil])
        try await store.change { _ = try $0.dropOldest(expiredBefore: 1, maximumBytes: .max, limit: 9) }
        #expect(try await store.deadHandleDays(hub: hub, limit: 9) == [], "they go with their messages")
    }

    // MARK: - Dropping

    /// Gives a message failures, and retries of other targets.
    private func fill(_ key: DeliveryKey, _ store: HubStore, _ hub: HubKey, failures: Int64, retries: Int64)
        async throws
    {
        var progress = DeliveryProgress()
        for number in 1...failures {
            let ordinal = Ordinal(rawValue: number)
            progress.done[ordinal] = .wrongToken
            progress.failures.append(DeliveryFailure(ordinal: ordinal, outcome: .wrongToken, reason: "no"))
        }
        progress.retries = (0..<retries).map { retry(key, Ordinal(rawValue: failures + 1 + $0), dueAt: 9) }
        _ = try await record(progress, of: key, store, hub)
    }

    @Test func `messages go with no more rows of their targets at a time than one transaction may drop`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        for _ in 0..<4 {
            let key = try await deliver(store, hub, to: 100, at: 1)
            try await fill(key, store, hub, failures: 30, retries: 10)
        }
        let large = try await deliver(store, hub, to: 1_000, at: 1)
        try await fill(large, store, hub, failures: 300, retries: 200)
        let last = try await store.append(hub, at: 1)
        var steps: [DroppedRows] = []
        var left = [try await rows("deliveryFailure", scratch) + rows("deliveryRetry", scratch)]
        #expect(left == [660])
        repeat {
            steps.append(
                try await store.change {
                    try $0.dropOldest(expiredBefore: 2, maximumBytes: .max, limit: 100, targets: 100)
                }
            )
            left.append(try await rows("deliveryFailure", scratch) + rows("deliveryRetry", scratch))
            try #require(steps.count < 20)
        } while steps.last?.hasMore == true
        #expect(zip(left, left.dropFirst()).allSatisfy { $0 - $1 <= 100 }, "\(left)")
        #expect(left.last == 0)
        #expect(steps.map(\.rows) == [2, 2, 0, 0, 0, 0, 2], "two of forty at a time; the large one in five steps")
        #expect(steps.compactMap(\.through).last == last)
        #expect(try await store.extent().droppedThrough == last)
        #expect(try await rows("delivery", scratch) == 0)
    }

    @Test func `a limit of messages says that there are more`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        for _ in 0..<3 { try await store.append(hub, at: 1) }
        func drop() async throws -> DroppedRows {
            try await store.change { try $0.dropOldest(expiredBefore: 2, maximumBytes: .max, limit: 2) }
        }
        let (first, second) = (try await drop(), try await drop())
        #expect(first.rows == 2 && first.hasMore && second.rows == 1 && !second.hasMore)
    }

    @Test func `a deleted hub loses the rows of its targets some at a time`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        for _ in 0..<3 {
            let key = try await deliver(store, hub, to: 100, at: 1)
            try await fill(key, store, hub, failures: 30, retries: 25)
        }
        try await store.change { try $0.deleteHub(id: hub, at: 2) }
        var left = [165]
        var isDone = false
        while !isDone {
            isDone = try await store.change { try $0.purge(hub: hub, limit: 10, at: 3) }
            left.append(try await rows("deliveryFailure", scratch) + rows("deliveryRetry", scratch))
            try #require(left.count < 60)
        }
        #expect(zip(left, left.dropFirst()).allSatisfy { $0 - $1 <= 10 }, "\(left)")
        #expect(left.last == 0)
        #expect(try await rows("delivery", scratch) == 0)
    }

    @Test func `retries of a delivery that ends go some at a time`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let key = try await deliver(store, hub, to: 100)
        try await fill(key, store, hub, failures: 10, retries: 25)
        var dropped: [Int] = []
        for _ in 0..<3 { dropped.append(try await store.change { try $0.dropRetries(of: key, limit: 10) }) }
        #expect(dropped == [10, 10, 5])
        #expect(try await store.change { try $0.end(key, as: .abandoned, at: 8) } == 90)
        let failures = try await store.failedTargets(of: key, limit: 1_000).map(\.failure)
        #expect(failures.count == 100 && failures.count { $0.outcome == .abandoned } == 90)
    }
}

/// What senders were answered to test sends.
struct TestAnswerTests {
    @Test func `answers go with their messages, and only so many are kept`() async throws {
        let (store, hub) = try await Scratch().store()
        for number in 1...5 {
            let sequence = try await store.append(hub, at: 1)
            try await store.change { try $0.keep(testAnswer: "\(number)", of: sequence, limit: 3) }
        }
        func answers() async throws -> [String?] {
            var answers: [String?] = []
            for sequence in 1...5 as ClosedRange<Int64> {
                answers.append(try await store.testAnswer(of: LogSequence(rawValue: sequence)))
            }
            return answers
        }
        #expect(try await answers() == [nil, nil, "3", "4", "5"])
        try await store.change { _ = try $0.dropOldest(expiredBefore: 2, maximumBytes: .max, limit: 4) }
        #expect(try await answers() == [nil, nil, nil, nil, "5"])
    }
}
