package import FoundationEssentials

/// The agent's environment apart from its hub and its disk, which tests can replace.
package struct AgentEnvironment: Sendable {
    /// The wall clock: for `receivedAt` only, never for order, retries or purges, because it may jump.
    package var now: @Sendable () -> Date = { Date() }
    /// Monotonic time from an arbitrary origin.
    package var elapsed: @Sendable () -> Duration = { origin.duration(to: .now) }
    /// Sleeps; throws `CancellationError` when the calling task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// A number from 0 up to, but not including, 1.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    package var reporter: AgentReporter

    private static let origin = ContinuousClock.now

    package init(reporter: AgentReporter) { self.reporter = reporter }
}

/// The receiver of lines for people, which adds the program's name and a prefix such as `warning:`.
package struct AgentReporter: Sendable {
    package var warning: @Sendable (String) -> Void
    package var notice: @Sendable (String) -> Void
    package var hint: @Sendable (AgentHint) -> Void

    package init(
        warning: @escaping @Sendable (String) -> Void,
        notice: @escaping @Sendable (String) -> Void,
        hint: @escaping @Sendable (AgentHint) -> Void
    ) {
        self.warning = warning
        self.notice = notice
        self.hint = hint
    }
}
