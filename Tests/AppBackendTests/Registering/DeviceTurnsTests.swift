import HTTPTypes
import HubTestServer
import Synchronization
import Testing

@testable import AppBackend

@Suite struct DeviceTurnsTests {
    private let key = DeviceKey(kind: .registration, id: "1-1-1")

    private final class Log: Sendable {
        private let numbers = Mutex<[Int]>([])

        var all: [Int] { numbers.withLock { $0 } }

        func add(_ number: Int) { numbers.withLock { $0.append(number) } }
    }

    @Test func `one request at a time changes a device, in order, and too many are refused`() async throws {
        let (turns, log, gate, started) = (DeviceTurns<DeviceKey>(), Log(), Gate(), Gate())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [key] in
                try await turns.pass(key) {
                    started.open()
                    await gate.opened()
                    log.add(0)
                }
            }
            await started.opened()
            for number in 1...DeviceTurns<DeviceKey>.maximumWaiting {
                group.addImmediateTask { [key] in try await turns.pass(key) { log.add(number) } }
                #expect(turns.waitingCount(key) == number)
            }
            var refusal: BackendRefusal?
            do {
                try await turns.pass(key) { log.add(-2) }
            } catch let error as BackendRefusal {
                refusal = error
            }
            #expect(refusal?.status == .serviceUnavailable)
            let other = DeviceKey(kind: .installation, id: "1-1-1")
            try await turns.pass(other) { log.add(-1) }
            #expect(log.all == [-1])
            gate.open()
            try await group.waitForAll()
        }
        #expect(log.all == [-1] + Array(0...DeviceTurns<DeviceKey>.maximumWaiting))
        #expect(turns.waitingCount(key) == nil)
    }

    @Test func `a turn that is taken only if it is free waits for nobody, and others wait for it`() async throws {
        let (turns, log, gate, started) = (DeviceTurns<DeviceKey>(), Log(), Gate(), Gate())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [key] in
                let done: Void? = try await turns.passIfFree(key) {
                    started.open()
                    await gate.opened()
                    log.add(0)
                }
                #expect(done != nil)
            }
            await started.opened()
            let refused: Void? = try await turns.passIfFree(key) { log.add(-1) }
            #expect(refused == nil)
            group.addImmediateTask { [key] in try await turns.pass(key) { log.add(1) } }
            #expect(turns.waitingCount(key) == 1)
            gate.open()
            try await group.waitForAll()
        }
        #expect(log.all == [0, 1])
        #expect(turns.waitingCount(key) == nil)
    }

    @Test func `a turn passes on when its work fails`() async throws {
        struct Failed: Error {}
        let turns = DeviceTurns<DeviceKey>()
        let failing: () async throws -> Int = { throw Failed() }
        do {
            _ = try await turns.pass(key, failing)
            Issue.record("it did not fail")
        } catch is Failed {}
        #expect(turns.waitingCount(key) == nil)
        let next = try await turns.pass(key) { 7 }
        #expect(next == 7)
    }
}
