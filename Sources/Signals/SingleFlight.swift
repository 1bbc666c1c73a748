import Synchronization

/// Shares one run of some work between all tasks that need its result at the same time, such as a token that is fetched.
///
/// Bound: one task for each key in use; the owner bounds the keys. Any number of callers may wait for it.
///
/// Cancellation: the work runs in a task of its own, so that a cancelled caller does not end it for others. The cancelled
/// caller also waits for its end. Nothing is kept after the end: the next caller starts anew, also after an error.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let running = Mutex<[Key: Task<Value, any Error>]>([:])

    package init() {}

    /// The task that works on a key now.
    package subscript(key: Key) -> Task<Value, any Error>? { running.withLock { $0[key] } }

    /// Returns the task that works on a key, and starts it if there is none.
    ///
    /// - Returns: The task, and true if this call has started it.
    package func join(
        _ key: Key,
        _ work: @escaping @Sendable () async throws -> Value
    ) -> (task: Task<Value, any Error>, isFirst: Bool) {
        running.withLock { running in
            if let task = running[key] { return (task, false) }
            let task = Task {
                defer { self.running.withLock { $0[key] = nil } }
                return try await work()
            }
            running[key] = task
            return (task, true)
        }
    }

    /// Returns the result of the work on a key that runs, or of new work.
    ///
    /// - Throws: The error of the work.
    package func value(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await join(key, work).task.value
    }
}

extension SingleFlight where Key == SingleKey {
    /// The running task.
    package var current: Task<Value, any Error>? { self[SingleKey()] }

    /// Returns the running task, and starts it if there is none.
    package func join(_ work: @escaping @Sendable () async throws -> Value) -> Task<Value, any Error> {
        join(SingleKey(), work).task
    }
}
