import Synchronization

/// Wakes whoever waits for a condition; no sleeping.
package final class Signal: Sendable {
    private struct State {
        var generation = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func notify() {
        let waiters = state.withLock { state in
            state.generation += 1
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when the condition holds, or after ``WaitLimit/duration``; it is looked at after each ``notify()``.
    package func wait<Failure>(
        file: String = #fileID,
        line: Int = #line,
        until condition: () async throws(Failure) -> Bool
    ) async throws(Failure) {
        if try await !wait(atMost: WaitLimit.duration, until: condition) {
            WaitLimit.ranOut("change that was waited for", file, line)
        }
    }

    private func look<Failure>(until condition: () async throws(Failure) -> Bool) async throws(Failure) {
        while true {
            let seen = state.withLock { $0.generation }
            if try await condition() { return }
            await withCheckedContinuation { continuation in
                let isStale = state.withLock { state in
                    if state.generation != seen { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if isStale { continuation.resume() }
            }
        }
    }

    /// Waits as ``wait(until:)`` does, but only for so long.
    ///
    /// The sleep is the limit of a wait that would not end; it is cancelled as soon as the condition holds.
    ///
    /// - Returns: False if the condition does not hold even then.
    package func wait<Failure>(
        atMost limit: Duration,
        until condition: () async throws(Failure) -> Bool
    ) async throws(Failure) -> Bool {
        let isLate = Atomic(false)
        let timer = Task {
            try await Task.sleep(for: limit)
            isLate.store(true, ordering: .relaxed)
            notify()
        }
        defer { timer.cancel() }
        var holds = false
        try await look { () async throws(Failure) in
            holds = try await condition()
            return holds || isLate.load(ordering: .relaxed)
        }
        return holds
    }
}
