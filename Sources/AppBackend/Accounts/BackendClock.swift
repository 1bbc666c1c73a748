import Foundation
package import HubProtocol

/// The clocks that the app backend uses.
package struct BackendClock: Sendable {
    /// The wall clock.
    package let now: @Sendable () -> Timestamp
    /// A clock that never jumps; its starting point is arbitrary.
    package let monotonic: @Sendable () -> Duration

    package static let system = BackendClock(now: { Timestamp(Date()) }, monotonic: { start.duration(to: .now) })

    private static let start = ContinuousClock.now
}
