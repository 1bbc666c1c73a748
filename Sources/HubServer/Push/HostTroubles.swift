import HubProtocol

/// Hosts of a push service that do nothing but fail, and are left alone for a while.
///
/// Channels and endpoints name hosts, and those of one must not hold up those of another. A service with hosts of its own
/// counts as one, with an empty name.
struct HostTroubles: Sendable {
    /// Failures in a row after which a host is left alone.
    static let failuresInRow = 64
    /// Hosts that are remembered; strangers can name any number.
    static let maximumHosts = 1_000

    private struct Trouble {
        var failures = 0
        var pauses = 0
        /// What began before the last pause says nothing new.
        var pausedAt = Timestamp.distantPast
        var until = Timestamp.distantPast
    }

    private var troubles: [String: Trouble] = [:]

    /// `nil` for a host that may be asked.
    func pausedUntil(_ host: String, at now: Timestamp) -> Timestamp? {
        guard let until = troubles[host]?.until, until > now, until <= now + DeliveryLane.longestPause else {
            return nil
        }
        return until
    }

    /// The host has answered: earlier failures no longer count.
    mutating func noteSuccess(_ host: String) { troubles[host] = nil }

    /// A request that began at a time has failed.
    ///
    /// - Returns: How long the host is left alone, if that begins now.
    mutating func noteFailure(_ host: String, begunAt: Timestamp, at now: Timestamp, fraction: Double) -> Duration? {
        var trouble = troubles[host] ?? Trouble()
        guard begunAt >= trouble.pausedAt else { return nil }
        trouble.failures += 1
        var wait: Duration?
        if trouble.failures >= Self.failuresInRow {
            trouble.failures = 0
            trouble.pauses += 1
            let pause = RetryWait.wait(after: trouble.pauses, asked: nil, fraction: fraction)
            trouble.pausedAt = now
            trouble.until = now + pause
            wait = pause
        }
        keep(trouble, host)
        return wait
    }

    /// The host wants to be left alone.
    mutating func pause(_ host: String, for wait: Duration, at now: Timestamp) {
        var trouble = troubles[host] ?? Trouble()
        trouble.pausedAt = now
        trouble.until = max(trouble.until, now + wait)
        keep(trouble, host)
    }

    private mutating func keep(_ trouble: Trouble, _ host: String) {
        if troubles[host] == nil, troubles.count >= Self.maximumHosts, let some = troubles.keys.first {
            troubles[some] = nil
        }
        troubles[host] = trouble
    }
}

extension PushChannel {
    /// The host that the handle names; empty where it names none.
    var host: String {
        guard handle.hasPrefix("https://") else { return "" }
        return handle.dropFirst(8).prefix { $0 != "/" && $0 != ":" && $0 != "?" }.lowercased()
    }
}
