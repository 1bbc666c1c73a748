import HubProtocol

/// Time that a target waits before the next attempt.
///
/// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015: full jitter.
enum RetryWait {
    static let base = Duration.seconds(1)
    static let maximum = Duration.seconds(15 * 60)
    /// Longest wait that a push service may ask for.
    static let maximumAsked = Duration.seconds(3_600)
    /// Time for which a message without storage (`TTL` 0) is retried.
    static let once = Duration.seconds(60)

    /// Chooses a wait, with full jitter.
    ///
    /// - Parameters:
    ///   - attempts: Attempts so far, at least 1.
    ///   - asked: The shortest wait that the service asked for.
    ///   - fraction: A random number from 0 to 1.
    /// - Returns: From zero to ``maximum``, or `asked` if that is longer.
    static func wait(after attempts: Int, asked: Duration?, fraction: Double) -> Duration {
        let ceiling = min(maximum, base * (1 << min(max(attempts - 1, 0), 20)))
        let own = ceiling * max(0, min(fraction, 1))
        return max(own, min(max(asked ?? .zero, .zero), maximumAsked))
    }
}
