package import Synchronization

/// Serializes changes of a device, push handle or reader's session; waiting requests are served in the order of their
/// arrival.
///
/// A change is made in the store and at the hub, one after the other. Two simultaneous changes could be made there in
/// different orders.
package final class DeviceTurns<Key: Hashable & Sendable>: Sendable {
    /// The largest number of requests that wait for one device.
    package static var maximumWaiting: Int { 16 }

    private let maximumWaiting: Int

    /// Waiting requests of each device that is being changed.
    private let waiting = Mutex<[Key: [CheckedContinuation<Bool, Never>]]>([:])

    /// Called when a request has begun to wait, for tests.
    package let onWait = Mutex<@Sendable () -> Void>({})

    /// - Parameter maximumWaiting: The largest number of requests that wait for one key.
    package init(maximumWaiting: Int = DeviceTurns.maximumWaiting) { self.maximumWaiting = maximumWaiting }

    /// Number of requests that wait for a device; `nil` if it is not being changed.
    package func waitingCount(_ key: Key) -> Int? { waiting.withLock { $0[key]?.count } }

    /// Runs a piece of work when the device's turn comes.
    ///
    /// - Throws: 503 when too many requests wait, `CancellationError` when the request was cancelled, and errors of
    ///   the work.
    package func pass<Output>(_ key: Key, _ work: () async throws -> Output) async throws -> Output {
        try await take(key)
        defer { yield(key) }
        try Task.checkCancellation()
        return try await work()
    }

    /// Runs a piece of work at once if nobody is changing the device; `nil` otherwise.
    ///
    /// It never waits, so that a request may call it that has another device's turn.
    package func passIfFree<Output>(_ key: Key, _ work: () async throws -> Output) async throws -> Output? {
        let isFree = waiting.withLock { waiting in
            guard waiting[key] == nil else { return false }
            waiting[key] = []
            return true
        }
        guard isFree else { return nil }
        defer { yield(key) }
        return try await work()
    }

    private func take(_ key: Key) async throws(BackendRefusal) {
        let isIn = await withCheckedContinuation { (turn: CheckedContinuation<Bool, Never>) in
            // `nil`: the request whose turn ends will give the answer.
            let answer = waiting.withLock { waiting -> Bool? in
                guard let others = waiting[key] else {
                    waiting[key] = []
                    return true
                }
                guard others.count < maximumWaiting else { return false }
                waiting[key] = others + [turn]
                return nil
            }
            if let answer { turn.resume(returning: answer) } else { onWait.withLock { $0 }() }
        }
        guard isIn else {
            throw .unavailable("Too many requests are changing this device at once.", retryAfter: .seconds(1))
        }
    }

    private func yield(_ key: Key) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Bool, Never>? in
            guard var others = waiting[key], !others.isEmpty else {
                waiting[key] = nil
                return nil
            }
            let first = others.removeFirst()
            waiting[key] = others
            return first
        }
        next?.resume(returning: true)
    }
}
