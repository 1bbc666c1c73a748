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

    /// Time before a message's end at which its last attempt begins at the latest.
    static let lastMargin = Duration.seconds(2)

    /// Chooses a wait for a message that ends after a time: the last attempt is made before the end.
    ///
    /// - Parameters:
    ///   - wait: The wait without regard to the end.
    ///   - asked: The shortest wait that the service asked for.
    ///   - left: Time until the message's end.
    ///   - fraction: A random number from 0 to 1, so that not all last attempts are made at once.
    /// - Returns: `nil` if there is no time for another attempt.
    static func wait(_ wait: Duration, asked: Duration?, within left: Duration, fraction: Double) -> Duration? {
        guard wait >= left - lastMargin else { return wait }
        let room = left - lastMargin
        let last = max(room - min(room / 10, .seconds(30)) * fraction, min(asked ?? .zero, maximumAsked))
        return last > .zero && last <= room ? last : nil
    }

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
