import Synchronization

/// Wakes tasks that wait for an event: new work, a free place, a changed condition.
///
/// A signal while no task waits ends the next wait at once; several such signals count as one. A wait may also end without
/// a signal, so callers must check what they wait for.
///
/// Bound: one continuation for each waiting task; signals are only counted.
///
/// Cancellation: a cancelled task stops waiting at once, without an error. That counts as a signal for other tasks. Only
/// ``waitDespiteCancellation(until:)`` continues to wait.
package final class AsyncSignal: Sendable {
    private struct State {
        var signals = 0
        /// Value of `signals` when ``AsyncSignal/wait()`` last returned.
        var seen = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Wakes all tasks that wait, or ends the next ``wait()``.
    package func signal() {
        let waiting = state.withLock { state in
            state.signals += 1
            defer { state.waiting = [] }
            return state.waiting
        }
        for task in waiting { task.resume() }
    }

    /// Waits until there is a signal that no earlier wait has returned for, or the task is cancelled.
    ///
    /// One task at a time may wait like this.
    package func wait() async {
        await withTaskCancellationHandler {
            await suspend(after: state.withLock { $0.seen })
        } onCancel: {
            signal()
        }
        state.withLock { $0.seen = $0.signals }
    }

    /// Waits as ``wait()`` does, but no longer than `limit`.
    package func wait(atMost limit: Duration) async { await wait(before: .now + limit) }

    /// Waits as ``wait()`` does, but not beyond `deadline`.
    package func wait(before deadline: ContinuousClock.Instant) async {
        let timer = Task {
            do { try await Task.sleep(until: deadline, clock: .continuous) } catch { return }
            signal()
        }
        defer { timer.cancel() }
        await wait()
    }

    /// Waits until a condition is true, or the task is cancelled; any number of tasks may wait like this.
    ///
    /// Each change that can make the condition true must be followed by a ``signal()``.
    package func wait(until isTrue: () -> Bool) async {
        await withTaskCancellationHandler {
            await waitDespiteCancellation { isTrue() || Task.isCancelled }
        } onCancel: {
            signal()
        }
    }

    /// Waits as ``wait(until:)`` does, and continues to wait when the task is cancelled.
    package func waitDespiteCancellation(until isTrue: () -> Bool) async {
        while true {
            let signals = state.withLock { $0.signals }
            if isTrue() { return }
            await suspend(after: signals)
        }
    }

    private func suspend(after signals: Int) async {
        await withCheckedContinuation { continuation in
            let isSignalled = state.withLock { state in
                if state.signals == signals { state.waiting.append(continuation) }
                return state.signals != signals
            }
            if isSignalled { continuation.resume() }
        }
    }
}
