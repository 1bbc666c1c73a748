import Dispatch
import Synchronization

/// A door that a test opens once; before, whoever comes waits.
///
/// Both a server's script and a test's task may.
package final class Gate: Sendable {
    private enum Waiter: Sendable {
        case thread(DispatchSemaphore)
        case task(CheckedContinuation<Void, Never>)
    }

    private struct State {
        var isOpen = false
        var waiters: [Waiter] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters {
            switch waiter {
            case .thread(let semaphore): semaphore.signal()
            case .task(let continuation): continuation.resume()
            }
        }
    }

    /// Blocks the thread: for scripts, which have threads of their own.
    package func blockUntilOpen() {
        let semaphore = DispatchSemaphore(value: 0)
        if enter(.thread(semaphore)) { semaphore.wait() }
    }

    package func opened() async {
        await withCheckedContinuation { continuation in
            if !enter(.task(continuation)) { continuation.resume() }
        }
    }

    /// Waits for what never comes.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package static func never() async throws {
        let (nothing, continuation) = AsyncStream<Never>.makeStream()
        for await _ in nothing {}
        continuation.finish()
        try Task.checkCancellation()
    }

    /// - Returns: Whether there is something to wait for.
    private func enter(_ waiter: Waiter) -> Bool {
        state.withLock { state in
            if state.isOpen { return false }
            state.waiters.append(waiter)
            return true
        }
    }
}
