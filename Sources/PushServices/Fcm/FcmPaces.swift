import Synchronization

/// The paces of all Firebase projects, over all hubs.
package final class FcmPaces: Sendable {
    /// Messages a minute for one project; Google's quota is 600,000.
    static let perMinute = 500_000

    private let perMinute: Int
    private let paces = Mutex<[String: FcmPace]>([:])

    package convenience init() { self.init(perMinute: Self.perMinute) }

    init(perMinute: Int) { self.perMinute = perMinute }

    /// Returns the pace that all senders of a project share.
    func pace(of project: String) -> FcmPace {
        paces.withLock { paces in
            if let pace = paces[project] { return pace }
            let pace = FcmPace(SendingPace(perMinute: perMinute))
            paces[project] = pace
            return pace
        }
    }
}

/// Gives turns in the order of the requests for them.
///
/// There is no wait below the pace. Above it, one task wakes all callers whose turn has come.
final class FcmPace: Sendable {
    private struct State {
        var pace: SendingPace
        var waiters: [(id: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
        var lastID: UInt64 = 0
        var isWaking = false
    }

    /// Time between two checks for due turns: 42 messages at the full rate.
    private static let shortestWait = Duration.milliseconds(5)

    private let state: Mutex<State>

    init(_ pace: SendingPace) { state = Mutex(State(pace: pace)) }

    /// Number of callers that wait now.
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Waits for a turn; false if the task was cancelled first.
    func turn() async -> Bool {
        let id: UInt64? = state.withLock { state in
            if state.waiters.isEmpty, state.pace.take(at: .now) { return nil }
            state.lastID += 1
            return state.lastID
        }
        guard let id else { return true }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { enqueue($0, id) }
        } onCancel: {
            cancel(id)
        }
    }

    private func enqueue(_ continuation: CheckedContinuation<Bool, Never>, _ id: UInt64) {
        let (isCancelled, isFirst) = state.withLock { state in
            // The task is marked as cancelled before its handler runs, so a cancellation is seen either here or there.
            if Task.isCancelled { return (true, false) }
            state.waiters.append((id, continuation))
            defer { state.isWaking = true }
            return (false, !state.isWaking)
        }
        if isCancelled { continuation.resume(returning: false) }
        if isFirst { Task { await wake() } }
    }

    private func cancel(_ id: UInt64) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
    }

    private func wake() async {
        while let wait = release() {
            try? await Task.sleep(for: max(wait, Self.shortestWait))
        }
    }

    /// Wakes all callers whose turn has come.
    ///
    /// - Returns: Time until the next check; `nil` if nobody waits.
    private func release() -> Duration? {
        let (released, wait) = state.withLock { state in
            let now = ContinuousClock.now
            let count = state.waiters.prefix { _ in state.pace.take(at: now) }.count
            let released = state.waiters.prefix(count).map(\.continuation)
            state.waiters.removeFirst(count)
            state.isWaking = !state.waiters.isEmpty
            return (released, state.isWaking ? state.pace.wait(at: now) : nil)
        }
        for continuation in released { continuation.resume(returning: true) }
        return wait
    }
}
