import Dispatch
import Synchronization

/// A door that a test opens once; before, whoever comes waits, at most for ``WaitLimit/duration``.
///
/// Both a server's script and a test's task may.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var threads: [DispatchSemaphore] = []
    }

    private let state = Mutex(State())
    private let opening = Signal()

    package init() {}

    package func open() {
        let threads = state.withLock { state in
            state.isOpen = true
            defer { state.threads = [] }
            return state.threads
        }
        for thread in threads { thread.signal() }
        opening.notify()
    }

    /// Blocks the thread: for scripts, which have threads of their own.
    package func blockUntilOpen() {
        let semaphore = DispatchSemaphore(value: 0)
        let isOpen = state.withLock { state in
            if !state.isOpen { state.threads.append(semaphore) }
            return state.isOpen
        }
        let limit = DispatchTime.now() + .seconds(Int(WaitLimit.duration.components.seconds))
        // Whoever waits for the script records that.
        if !isOpen { _ = semaphore.wait(timeout: limit) }
    }

    package func opened(file: String = #fileID, line: Int = #line) async {
        await opening.wait(file: file, line: line) { state.withLock { $0.isOpen } }
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
}
