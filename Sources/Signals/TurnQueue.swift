package import Synchronization

/// Runs work with the same key one after the other, or a few at once; further callers wait in the order of their arrival.
///
/// Bound: a number of callers that wait for each key, beyond which callers are refused. A key without work takes no
/// memory; the owner bounds the keys in use.
///
/// Cancellation: a cancelled caller leaves its place at once and gets `CancellationError`. Work that has begun is not
/// interrupted; it must look at the cancellation itself.
package final class TurnQueue<Key: Hashable & Sendable>: Sendable {
    private enum Answer { case taken, full, cancelled }

    private struct Line {
        var running = 0
        var waiting: [(number: UInt64, turn: CheckedContinuation<Answer, Never>)] = []
    }

    private struct State {
        /// The keys in use.
        var lines: [Key: Line] = [:]
        var lastNumber: UInt64 = 0
    }

    private let maximumRunning: Int
    private let maximumWaiting: Int
    private let refusal: @Sendable () -> any Error
    private let state = Mutex(State())

    /// Called when a caller has begun to wait, for tests.
    package let onWait = Mutex<@Sendable () -> Void>({})

    /// - Parameters:
    ///   - maximumRunning: Pieces of work with one key that run at once, at least 1.
    ///   - maximumWaiting: Callers that wait for one key; without a limit, something else must bound them.
    ///   - refusal: The error for further callers.
    package init(
        atOnce maximumRunning: Int = 1,
        maximumWaiting: Int = .max,
        refusal: @escaping @Sendable () -> any Error = { CancellationError() }
    ) {
        self.maximumRunning = maximumRunning
        self.maximumWaiting = maximumWaiting
        self.refusal = refusal
    }

    /// Number of callers that wait for a key; `nil` if no work with it runs.
    package func waitingCount(_ key: Key) -> Int? { state.withLock { $0.lines[key]?.waiting.count } }

    /// Runs a piece of work when its turn comes.
    ///
    /// - Throws: The refusal if too many callers wait, `CancellationError` when the task is cancelled before the work
    ///   begins, and errors of the work.
    package func pass<Output>(_ key: Key, _ work: () async throws -> Output) async throws -> Output {
        try await take(key)
        defer { yield(key) }
        try Task.checkCancellation()
        return try await work()
    }

    /// Runs a piece of work at once if its turn has come; returns `nil` otherwise.
    ///
    /// It never waits, so a caller that has the turn of another key may call it.
    package func passIfFree<Output>(_ key: Key, _ work: () async throws -> Output) async throws -> Output? {
        guard state.withLock({ takeNow(key, &$0) }) else { return nil }
        defer { yield(key) }
        return try await work()
    }

    private func takeNow(_ key: Key, _ state: inout State) -> Bool {
        guard state.lines[key, default: Line()].running < maximumRunning else { return false }
        state.lines[key, default: Line()].running += 1
        return true
    }

    private func take(_ key: Key) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { turn in
                // `nil`: the work whose turn ends, or the cancellation, gives the answer.
                let answer = state.withLock { state -> Answer? in
                    if takeNow(key, &state) { return .taken }
                    guard state.lines[key, default: Line()].waiting.count < maximumWaiting else { return .full }
                    // The task is marked as cancelled before its handler runs: a cancellation is seen here or there.
                    if Task.isCancelled { return .cancelled }
                    state.lines[key, default: Line()].waiting.append((number, turn))
                    return nil
                }
                if let answer { turn.resume(returning: answer) } else { onWait.withLock { $0 }() }
            }
        } onCancel: {
            leave(key, number)
        }
        switch answer {
        case .taken: return
        case .full: throw refusal()
        case .cancelled: throw CancellationError()
        }
    }

    private func leave(_ key: Key, _ number: UInt64) {
        let left = state.withLock { state in
            state.lines[key]?.waiting.firstIndex { $0.number == number }
                .flatMap { state.lines[key]?.waiting.remove(at: $0) }
        }
        left?.turn.resume(returning: .cancelled)
    }

    private func yield(_ key: Key) {
        let next = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            guard var line = state.lines[key] else { return nil }
            if !line.waiting.isEmpty {
                let next = line.waiting.removeFirst()
                state.lines[key] = line
                return next.turn
            }
            line.running -= 1
            state.lines[key] = line.running == 0 ? nil : line
            return nil
        }
        next?.resume(returning: .taken)
    }
}

/// The key where there is nothing to distinguish.
package struct SingleKey: Hashable, Sendable {}

extension TurnQueue where Key == SingleKey {
    /// Number of callers that wait.
    package var waitingCount: Int { waitingCount(SingleKey()) ?? 0 }

    /// Runs a piece of work when its turn comes, as ``pass(_:_:)``.
    package func pass<Output>(_ work: () async throws -> Output) async throws -> Output {
        try await pass(SingleKey(), work)
    }
}
