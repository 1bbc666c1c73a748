import Synchronization

/// The requests that wait for an answer.
final class RequestTable: Sendable {
    typealias Handler = @Sendable (Result<EngineMessage, EngineFault>) -> Void

    private struct Waiting {
        let deadline: ContinuousClock.Instant
        let handler: Handler
    }

    private struct State {
        var last: UInt64 = 0
        var waiting: [UInt64: Waiting] = [:]
    }

    private let state = Mutex(State())

    /// - Returns: The number of the request; its handler is called once.
    func add(deadline: ContinuousClock.Instant, _ handler: @escaping Handler) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.waiting[state.last] = Waiting(deadline: deadline, handler: handler)
            return state.last
        }
    }

    /// Ends a request with its answer; does nothing if it has ended.
    func resolve(_ number: UInt64, _ result: Result<EngineMessage, EngineFault>) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.handler(result)
    }

    func failAll(_ fault: EngineFault) { fail(fault) { _ in true } }

    /// Ends the requests whose time has expired.
    func sweep() {
        let now = ContinuousClock.now
        fail(.timeout) { $0.deadline <= now }
    }

    private func fail(_ fault: EngineFault, where isFailed: (Waiting) -> Bool) {
        let failed = state.withLock { state in
            let failed = state.waiting.filter { isFailed($0.value) }
            for number in failed.keys { state.waiting[number] = nil }
            return failed.values
        }
        for waiting in failed { waiting.handler(.failure(fault)) }
    }
}
