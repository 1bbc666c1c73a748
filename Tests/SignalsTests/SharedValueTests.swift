import HubTestServer
import Signals
import Testing

@Suite struct SingleFlightTests {
    private let begun = Gate()
    private let gate = Gate()
    private let runs = Shared(0)

    private struct Failed: Error {}

    private func work() async -> Int {
        let run = runs.next()
        begun.open()
        await gate.opened()
        return run
    }

    @Test func `all who want a result while it is worked on get the same one`() async throws {
        let flights = SingleFlight<String, Int>()
        let first = flights.join("a") { await work() }
        await begun.opened()
        let second = flights.join("a") { await work() }
        #expect(first.isFirst && !second.isFirst && flights["a"] == second.task && flights["b"] == nil)
        gate.open()
        #expect(try await first.task.value == 1)
        #expect(try await second.task.value == 1)
        #expect(flights["a"] == nil)
        #expect(try await flights.value("a") { await work() } == 2)
    }

    @Test func `the work goes on when its first caller is cancelled`() async throws {
        let flights = SingleFlight<String, Int>()
        let first = Task { try await flights.value("a") { await work() } }
        await begun.opened()
        first.cancel()
        let second = flights.join("a") { await work() }
        gate.open()
        #expect(try await second.task.value == 1 && !second.isFirst)
    }

    @Test func `a failure is shared, and the next caller begins anew`() async throws {
        let flights = SingleFlight<SingleKey, Int>()
        let first = flights.join {
            _ = await work()
            throw Failed()
        }
        await begun.opened()
        let second = flights.join { await work() }
        gate.open()
        await #expect(throws: Failed.self) { try await first.value }
        await #expect(throws: Failed.self) { try await second.value }
        #expect(try await flights.join { await work() }.value == 2)
    }
}

@Suite struct SharedValueTests {
    private let time = Shared(Duration.zero)
    private let computed = Shared(0)

    private struct Failed: Error {}

    private func next() -> Int {
        computed.next()
    }

    private func value(
        lifetime: Duration = .seconds(1),
        whileComputing staleLifetime: Duration? = nil,
        _ compute: @escaping @Sendable () async throws -> Int
    ) -> SharedValue<Int> {
        SharedValue(
            lifetime: lifetime,
            whileComputing: staleLifetime,
            clock: { time.value },
            compute: compute
        )
    }

    private func advance(_ duration: Duration) { time.change { $0 += duration } }

    @Test func `a value is computed at most once in its lifetime`() async throws {
        let value = value { next() }
        for _ in 0..<100 { #expect(try await value.value() == 1) }
        advance(.milliseconds(999))
        #expect(try await value.value() == 1)
        advance(.milliseconds(1))
        #expect(value.recent(.seconds(1)) == nil && value.recent(.seconds(2)) == 1)
        for _ in 0..<100 { #expect(try await value.value() == 2) }
    }

    @Test func `without a lifetime it is computed for every caller`() async throws {
        let value = value(lifetime: .zero) { next() }
        for number in 1...3 { #expect(try await value.value() == number) }
    }

    @Test func `those who ask while it is computed wait for that one`() async throws {
        let (begun, gate) = (Gate(), Gate())
        let value = value {
            begun.open()
            await gate.opened()
            return next()
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 { group.addTask { try await value.value() } }
            await begun.opened()
            gate.open()
            for try await number in group { #expect(number == 1) }
        }
    }

    @Test func `an older value is used while one caller waits for a new one, up to a limit`() async throws {
        let (begun, gate) = (Gate(), Gate())
        let value = value(whileComputing: .seconds(3)) {
            let number = next()
            guard number > 1 else { return number }
            begun.open()
            await gate.opened()
            return number
        }
        #expect(try await value.value() == 1)
        advance(.seconds(1))
        let slow = Task { try await value.value() }
        await begun.opened()
        #expect(try await value.value() == 1)
        advance(.seconds(2))
        // It asks before the gate opens, so that it must wait for the new value.
        let late = Task.immediate { try await value.value() }
        gate.open()
        #expect(try await slow.value == 2)
        #expect(try await late.value == 2)
        #expect(computed.value == 2)
    }

    @Test func `a value that could not be computed is tried again`() async throws {
        let value = value {
            let number = next()
            if number == 1 { throw Failed() }
            return number
        }
        await #expect(throws: Failed.self) { try await value.value() }
        #expect(try await value.value() == 2)
    }
}
