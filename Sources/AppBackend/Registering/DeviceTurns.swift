import Synchronization

/// Lets one request at a time change a device, or a push handle; the others wait in the order of their arrival.
///
/// The store and the hub learn of a change one after the other. Two changes side by side could reach them in different
/// orders.
final class DeviceTurns<Key: Hashable & Sendable>: Sendable {
    /// Requests that may wait for one device.
    static var maximumWaiting: Int { 16 }

    /// Those that wait, for each device that is being changed.
    private let waiting = Mutex<[Key: [CheckedContinuation<Bool, Never>]]>([:])

    /// Number of requests that wait for a device; `nil` while nobody changes it.
    func waitingCount(_ key: Key) -> Int? { waiting.withLock { $0[key]?.count } }

    /// Runs a piece of work when the device's turn has come.
    ///
    /// - Throws: 503 when too many requests wait, `CancellationError` when the request was cancelled; what the work throws.
    func pass<Output>(_ key: Key, _ work: () async throws -> Output) async throws -> Output {
        try await take(key)
        defer { yield(key) }
        try Task.checkCancellation()
        return try await work()
    }

    private func take(_ key: Key) async throws(BackendRefusal) {
        let isIn = await withCheckedContinuation { (turn: CheckedContinuation<Bool, Never>) in
            // `nil` leaves the answer to the one whose turn ends.
            let answer = waiting.withLock { waiting -> Bool? in
                guard let others = waiting[key] else {
                    waiting[key] = []
                    return true
                }
                guard others.count < Self.maximumWaiting else { return false }
                waiting[key] = others + [turn]
                return nil
            }
            if let answer { turn.resume(returning: answer) }
        }
        guard isIn else {
            throw .unavailable("Too many requests change this device at once.", retryAfter: .seconds(1))
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
