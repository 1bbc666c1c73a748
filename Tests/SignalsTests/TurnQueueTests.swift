import HubTestServer
import Signals
import Synchronization
import Testing

@Suite struct TurnQueueTests {
    private struct Full: Error {}
    private struct Failed: Error {}

    private let log = Shared<[Int]>([])
    private let gate = Gate()
    private let started = Gate()

    private func queue(atOnce: Int = 1, maximumWaiting: Int = 16) -> TurnQueue<String> {
        TurnQueue(atOnce: atOnce, maximumWaiting: maximumWaiting) { Full() }
    }

    /// Takes the turn of a key until the gate opens.
    private func hold(_ key: String, of turns: TurnQueue<String>) async throws {
        try await turns.pass(key) {
            started.open()
            await gate.opened()
            log.change { $0.append(0) }
        }
    }

    @Test func `one works with a key at a time, in order of arrival, and too many are refused`() async throws {
        let turns = queue()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await hold("a", of: turns) }
            await started.opened()
            for number in 1...16 {
                group.addImmediateTask { try await turns.pass("a") { log.change { $0.append(number) } } }
                #expect(turns.waitingCount("a") == number)
            }
            await #expect(throws: Full.self) { try await turns.pass("a") { log.change { $0.append(-2) } } }
            try await turns.pass("b") { log.change { $0.append(-1) } }
            #expect(log.value == [-1])
            gate.open()
            try await group.waitForAll()
        }
        #expect(log.value == [-1] + Array(0...16))
        #expect(turns.waitingCount("a") == nil)
    }

    @Test func `a turn that is taken only if it is free waits for nobody, and others wait for it`() async throws {
        let turns = queue()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let done: Void? = try await turns.passIfFree("a") {
                    started.open()
                    await gate.opened()
                    log.change { $0.append(0) }
                }
                #expect(done != nil)
            }
            await started.opened()
            let refused: Void? = try await turns.passIfFree("a") { log.change { $0.append(-1) } }
            #expect(refused == nil)
            group.addImmediateTask { try await turns.pass("a") { log.change { $0.append(1) } } }
            #expect(turns.waitingCount("a") == 1)
            gate.open()
            try await group.waitForAll()
        }
        #expect(log.value == [0, 1])
        #expect(turns.waitingCount("a") == nil)
    }

    @Test func `a turn passes on when its work fails`() async throws {
        let turns = queue()
        await #expect(throws: Failed.self) { try await turns.pass("a") { throw Failed() } }
        #expect(turns.waitingCount("a") == nil)
        #expect(try await turns.pass("a") { 7 } == 7)
    }

    @Test func `a cancelled caller leaves its place at once, and those after it keep their order`() async throws {
        let turns = queue(maximumWaiting: 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await hold("a", of: turns) }
            await started.opened()
            let waits = Gate()
            turns.onWait.withLock { $0 = { waits.open() } }
            let cancelled = Task { try await turns.pass("a") { log.change { $0.append(-1) } } }
            await waits.opened()
            group.addImmediateTask { try await turns.pass("a") { log.change { $0.append(1) } } }
            #expect(turns.waitingCount("a") == 2)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            #expect(turns.waitingCount("a") == 1)
            group.addImmediateTask { try await turns.pass("a") { log.change { $0.append(2) } } }
            #expect(turns.waitingCount("a") == 2)
            gate.open()
            try await group.waitForAll()
        }
        #expect(log.value == [0, 1, 2])
    }

    @Test func `a cancelled task does not begin its work`() async {
        let turns = queue()
        let task = Task {
            await gate.opened()
            try await turns.pass("a") { log.change { $0.append(-1) } }
        }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(log.value.isEmpty && turns.waitingCount("a") == nil)
    }

    @Test func `no more than the limit work at once, whoever is cancelled, and no turn is lost`() async {
        let turns = queue(atOnce: 3, maximumWaiting: 1_000)
        let running = Shared<(now: Int, most: Int)>((0, 0))
        for _ in 0..<20 {
            await withDiscardingTaskGroup { group in
                for number in 0..<60 {
                    let task = Task {
                        try await turns.pass("a") {
                            running.change { running in
                                running.now += 1
                                running.most = max(running.most, running.now)
                            }
                            for _ in 0..<number % 5 { await Task.yield() }
                            running.change { $0.now -= 1 }
                        }
                    }
                    if number % 3 == 0 { group.addTask { task.cancel() } }
                    group.addTask { _ = await task.result }
                }
            }
            #expect(turns.waitingCount("a") == nil)
        }
        #expect(running.value.now == 0 && running.value.most <= 3)
    }
}
