import Synchronization

/// Bounds how many targets are in flight at a push service, and how many are sent and not yet written down.
///
/// A crash repeats what was sent and not written down, and no more than that.
final class PushSlots: Sendable {
    /// Targets of one credential that may be sent and not written down.
    static let maximumUnwritten = 4_000

    private struct State {
        var inFlight = 0
        /// In flight, or done and not written down.
        var unwritten = 0
        var limit = 1
        var isClosed = false
        var waiting: CheckedContinuation<Void, Never>?
        var idle: CheckedContinuation<Void, Never>?

        var isFree: Bool { inFlight < limit && unwritten < PushSlots.maximumUnwritten }
    }

    private let state = Mutex(State())

    var inFlight: Int { state.withLock { $0.inFlight } }

    /// Takes a slot, waiting until one is free; only one task waits at a time.
    ///
    /// - Parameter limit: How many the service takes at once now, at least 1.
    /// - Returns: False when there are no more slots because of ``close()``.
    func take(limit: Int) async -> Bool {
        while true {
            let hasTaken: Bool? = state.withLock { state in
                guard !state.isClosed else { return false }
                state.limit = max(1, limit)
                guard state.isFree else { return nil }
                state.inFlight += 1
                state.unwritten += 1
                return true
            }
            if let hasTaken { return hasTaken }
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if state.isFree || state.isClosed { return true }
                    state.waiting = continuation
                    return false
                }
                if isFree { continuation.resume() }
            }
        }
    }

    /// Gives no more slots; who waits for one gets none.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            return state.waiting.take()
        }
        waiting?.resume()
    }

    /// A target has an outcome, which waits to be written down.
    func land() { change { $0.inFlight -= 1 } }

    /// The outcomes of so many targets were written down.
    func write(_ count: Int) { change { $0.unwritten -= count } }

    /// Returns when nothing is in flight; only one task waits at a time.
    func waitUntilLanded() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.inFlight == 0 { return true }
                state.idle = continuation
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let woken = state.withLock { state in
            body(&state)
            var woken: [CheckedContinuation<Void, Never>] = []
            if state.isFree, let waiting = state.waiting.take() { woken.append(waiting) }
            if state.inFlight == 0, let idle = state.idle.take() { woken.append(idle) }
            return woken
        }
        for continuation in woken { continuation.resume() }
    }
}

/// Wakes one waiting task, or the next one that waits.
final class Bell: Sendable {
    private struct State {
        var hasRung = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func ring() {
        let waiting = state.withLock { state in
            defer { state.waiting = nil }
            state.hasRung = state.waiting == nil
            return state.waiting
        }
        waiting?.resume()
    }

    /// Waits until it rings, a time has passed, or the task is cancelled; only one task waits at a time.
    func wait(atMost limit: Duration) async {
        let timer = Task {
            try? await Task.sleep(for: limit)
            // A timer that was cancelled was not needed.
            if !Task.isCancelled { ring() }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.hasRung || Task.isCancelled {
                        state.hasRung = false
                        return true
                    }
                    state.waiting = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            ring()
        }
        timer.cancel()
    }
}
