import Synchronization

/// A value that is computed once for all tasks that ask for it at the same time, and used until it is too old.
///
/// Bound: one value and one computation.
///
/// Cancellation: the computation runs in a task of its own, so that a cancelled caller does not end it for others. The
/// cancelled caller also waits for its end. Without a lifetime, each caller computes in its own task.
package final class SharedValue<Value: Sendable>: Sendable {
    private let lifetime: Duration
    private let staleLifetime: Duration
    private let clock: @Sendable () -> Duration
    private let compute: @Sendable () async throws -> Value
    private let flight = SingleFlight<SingleKey, Value>()
    private let last = Mutex<(value: Value, at: Duration)?>(nil)

    /// - Parameters:
    ///   - lifetime: The age up to which a value is used; zero computes one for every caller.
    ///   - staleLifetime: The age up to which a value is used while a new one is computed; `nil` for `lifetime`.
    ///   - clock: A clock that never jumps. A value's age counts from the beginning of its computation.
    ///   - compute: Computes a new value.
    package init(
        lifetime: Duration,
        whileComputing staleLifetime: Duration? = nil,
        clock: @escaping @Sendable () -> Duration,
        compute: @escaping @Sendable () async throws -> Value
    ) {
        self.lifetime = lifetime
        self.staleLifetime = staleLifetime ?? lifetime
        self.clock = clock
        self.compute = compute
    }

    /// Returns the last value if it is younger than an age.
    package func recent(_ age: Duration) -> Value? {
        let now = clock()
        return last.withLock { last in last.flatMap { now - $0.at < age ? $0.value : nil } }
    }

    /// Returns the value, and computes it if the last one is too old.
    ///
    /// - Throws: The error of the computation; the next caller tries again.
    package func value() async throws -> Value {
        guard lifetime > .zero else { return try await compute() }
        if let value = recent(flight.current == nil ? lifetime : staleLifetime) { return value }
        return try await flight.join {
            // Another computation may have ended since this caller looked.
            if let value = self.recent(self.lifetime) { return value }
            let begun = self.clock()
            let value = try await self.compute()
            self.last.withLock { $0 = (value, begun) }
            return value
        }.value
    }
}
