internal import Synchronization

/// Lets one task sleep until an event, or until a time has passed.
///
/// An event while no task sleeps ends the next sleep at once.
final class WakeUp: Sendable {
    private struct State {
        var isDue = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func signal() {
        state.withLock { state in
            defer { state.sleeper = nil }
            if state.sleeper == nil { state.isDue = true }
            return state.sleeper
        }?.resume()
    }

    /// Sleeps; also returns when the task is cancelled, and sometimes without a reason.
    func sleep(for limit: Duration) async {
        let timer = Task {
            do { try await Task.sleep(for: limit) } catch { return }
            signal()
        }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAwake = state.withLock { state in
                    if state.isDue || Task.isCancelled {
                        state.isDue = false
                        return true
                    }
                    state.sleeper = continuation
                    return false
                }
                if isAwake { continuation.resume() }
            }
        } onCancel: {
            signal()
        }
    }
}
