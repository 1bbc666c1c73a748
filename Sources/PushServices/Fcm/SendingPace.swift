/// A maximum rate that grows over the first minute.
///
/// It is a token bucket that keeps unused turns for a tenth of a second, so that senders need not wait for each
/// message.
///
/// Source: Google, "Best practices when sending FCM messages at scale": ramp up over 60 seconds at least.
struct SendingPace: Sendable {
    /// Time to reach the full rate, and length of a pause after which the ramp starts again.
    static let ramp = 60.0
    /// Fraction of the rate at which a ramp starts.
    static let start = 1.0 / 60
    /// Seconds for which unused turns are kept.
    static let slack = 0.1

    /// Turns a second after the ramp.
    let rate: Double
    private var startedAt: ContinuousClock.Instant?
    private var lastAt: ContinuousClock.Instant?
    /// Turns taken or expired since the start.
    private var used = 0.0

    /// - Parameter perMinute: Turns after the ramp.
    init(perMinute: Int) { rate = Double(perMinute) / 60 }

    /// Takes a turn; false if it is too early.
    mutating func take(at now: ContinuousClock.Instant) -> Bool {
        let isIdle = lastAt.map { Self.seconds(now - $0) >= Self.ramp } ?? true
        if isIdle { (startedAt, used) = (now, 0) }
        let age = age(at: now)
        let allowed = turns(upTo: age)
        used = max(used, allowed - speed(at: age) * Self.slack)
        guard used <= allowed else { return false }
        used += 1
        lastAt = now
        return true
    }

    /// Returns the longest time until there is a turn.
    func wait(at now: ContinuousClock.Instant) -> Duration {
        let age = age(at: now)
        return .seconds(max(0, (used - turns(upTo: age)) / speed(at: age)))
    }

    private func age(at now: ContinuousClock.Instant) -> Double {
        startedAt.map { max(0, Self.seconds(now - $0)) } ?? 0
    }

    private func speed(at age: Double) -> Double {
        rate * (Self.start + (1 - Self.start) * min(age / Self.ramp, 1))
    }

    /// The integral of the rate, which grows linearly.
    private func turns(upTo age: Double) -> Double {
        let ramping = min(age, Self.ramp)
        return (speed(at: 0) + speed(at: ramping)) / 2 * ramping + rate * max(0, age - Self.ramp)
    }

    private static func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }
}
