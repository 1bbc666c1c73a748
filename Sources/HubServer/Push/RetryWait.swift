import HubProtocol

/// How long a target waits before it is tried again.
///
/// Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015: full jitter.
enum RetryWait {
    static let base = Duration.seconds(1)
    static let maximum = Duration.seconds(15 * 60)
    /// The longest wait that a push service is granted.
    static let maximumAsked = Duration.seconds(3_600)
    /// A message that is to be delivered now or never is tried for so long.
    static let once = Duration.seconds(60)

    /// Chooses a wait, with full jitter.
    ///
    /// - Parameters:
    ///   - attempts: Attempts so far, at least 1.
    ///   - asked: The shortest wait that the service asked for.
    ///   - fraction: A random number from 0 to 1.
    /// - Returns: From nothing to ``maximum``, or what was asked for if that is longer.
    static func wait(after attempts: Int, asked: Duration?, fraction: Double) -> Duration {
        let ceiling = min(maximum, base * (1 << min(max(attempts - 1, 0), 20)))
        let own = ceiling * max(0, min(fraction, 1))
        return max(own, min(max(asked ?? .zero, .zero), maximumAsked))
    }
}
