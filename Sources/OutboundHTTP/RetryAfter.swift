import Formats

extension OutboundHeaders {
    /// Returns the wait that the server asks for, in seconds or as an HTTP date.
    ///
    /// - Parameter now: Seconds since 1970. A date in the past asks for no wait.
    /// - Returns: `nil` if there is no `Retry-After`, or if it cannot be read.
    ///
    /// Source: RFC 9110 §10.2.3.
    package func retryAfter(now: Int64) -> Duration? {
        guard let value = first("Retry-After") else { return nil }
        if value.isDigits {
            return .seconds(min(Int64(value) ?? Self.longestWait, Self.longestWait))
        }
        guard let date = HTTPDate.seconds(value) else { return nil }
        return .seconds(min(max(0, date - now), Self.longestWait))
    }

    /// Seconds in ten years: longer than any real wait, and no clock overflows.
    private static let longestWait: Int64 = 315_360_000
}
