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

    /// Returns when the condition holds; it is looked at after each ``notify()``.
    package func wait(until condition: @Sendable () async -> Bool) async {
        while true {
            let seen = state.withLock { $0.generation }
            if await condition() { return }
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
}
