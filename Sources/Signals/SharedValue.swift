import Synchronization

/// A value that is computed once for all who want it at the same time, and used until it is too old.
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
    ///   - clock: A clock that never jumps.
    ///   - compute: Makes a new value.
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
