import Synchronization

/// The requests that wait for an answer.
final class RequestTable: Sendable {
    typealias Handler = @Sendable (Result<EngineMessage, EngineFault>) -> Void

    struct Waiting: Sendable {
        let deadline: ContinuousClock.Instant
        /// Called at each ``sweep()``; the request times out when it returns true.
        var isHopeless: @Sendable () -> Bool = { false }
        let handler: Handler
    }

    private struct State {
        var last: UInt64 = 0
        var waiting: [UInt64: Waiting] = [:]
    }

    private let state = Mutex(State())

    /// Adds requests, whose handlers are called once each.
    ///
    /// - Returns: The number of the first request; those of the others follow it.
    func add(_ requests: [Waiting]) -> UInt64 {
        state.withLock { state in
            let first = state.last + 1
            for request in requests {
                state.last += 1
                state.waiting[state.last] = request
            }
            return first
        }
    }

    /// Ends a request with its answer; does nothing if it has ended.
    func resolve(_ number: UInt64, _ result: Result<EngineMessage, EngineFault>) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.handler(result)
    }

    /// Ends those of the requests that have not ended.
    func resolve(_ numbers: ClosedRange<UInt64>, _ fault: EngineFault) {
        fail(fault) { number, _ in numbers.contains(number) }
    }

    func failAll(_ fault: EngineFault) { fail(fault) { _, _ in true } }

    /// Ends the requests whose time has expired, or that have become hopeless.
    func sweep() {
        let now = ContinuousClock.now
        fail(.timeout) { _, waiting in waiting.deadline <= now || waiting.isHopeless() }
    }

    private func fail(_ fault: EngineFault, where isFailed: (UInt64, Waiting) -> Bool) {
        let failed = state.withLock { state in
            let failed = state.waiting.filter { isFailed($0.key, $0.value) }
            for number in failed.keys { state.waiting[number] = nil }
            return failed.values
        }
        for waiting in failed { waiting.handler(.failure(fault)) }
    }
}
