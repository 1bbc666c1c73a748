import Synchronization

/// Shares one run of some work between all who want its result at the same time.
///
/// The work runs in its own task: it goes on when the caller that has started it is cancelled.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let running = Mutex<[Key: Task<Value, any Error>]>([:])

    package init() {}

    /// The task that works on a key now.
    package subscript(key: Key) -> Task<Value, any Error>? { running.withLock { $0[key] } }

    /// Returns the task that works on a key, and starts it if there is none.
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

    /// The result of the work on a key that runs, or of new work.
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
