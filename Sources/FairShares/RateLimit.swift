/// A limit on the rate of events: `burst` at once, and `perSecond` in the long run.
package struct RateLimit: Sendable, Equatable {
    /// At least 1.
    package var burst: Int
    /// Above 0.
    package var perSecond: Double

    package init(burst: Int, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }
}
