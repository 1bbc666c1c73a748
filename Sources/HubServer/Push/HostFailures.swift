import HubProtocol

/// Hosts of a push service that keep failing and are paused.
///
/// Channels and endpoints name hosts, and one host must not hold up another. A service with hosts of its own counts as
/// one host with an empty name.
struct HostFailures: Sendable {
    /// Failures in a row after which a host is paused.
    static let failuresInRow = 64
    /// Hosts to remember; devices can name any number.
    static let maximumHosts = 1_000

    private struct Record {
        var failures = 0
        var pauses = 0
        /// Failures of requests that began before this time do not count.
        var pausedAt = Timestamp.distantPast
        var until = Timestamp.distantPast
    }

    private var hosts: [String: Record] = [:]

    /// Returns the end of a host's pause; `nil` if the host is not paused.
    func pausedUntil(_ host: String, at now: Timestamp) -> Timestamp? {
        guard let until = hosts[host]?.until, until > now, until <= now + DeliveryLane.longestPause else {
            return nil
        }
        return until
    }

    /// Notes that a host has answered; earlier failures no longer count.
    mutating func noteSuccess(_ host: String) { hosts[host] = nil }

    /// Notes the failure of a request that began at a time.
    ///
    /// - Returns: Length of the pause if one begins now.
    mutating func noteFailure(_ host: String, begunAt: Timestamp, at now: Timestamp, fraction: Double) -> Duration? {
        var record = hosts[host] ?? Record()
        guard begunAt >= record.pausedAt else { return nil }
        record.failures += 1
        var wait: Duration?
        if record.failures >= Self.failuresInRow {
            record.failures = 0
            record.pauses += 1
            let pause = RetryWait.wait(after: record.pauses, asked: nil, fraction: fraction)
            record.pausedAt = now
            record.until = now + pause
            wait = pause
        }
        keep(record, host)
        return wait
    }

    /// Pauses a host that asked for it.
    mutating func pause(_ host: String, for wait: Duration, at now: Timestamp) {
        var record = hosts[host] ?? Record()
        record.pausedAt = now
        record.until = max(record.until, now + wait)
        keep(record, host)
    }

    private mutating func keep(_ record: Record, _ host: String) {
        if hosts[host] == nil, hosts.count >= Self.maximumHosts, let some = hosts.keys.first {
            hosts[some] = nil
        }
        hosts[host] = record
    }
}

extension PushChannel {
    /// The host in the handle; empty if it names none.
    var host: String {
        guard handle.hasPrefix("https://") else { return "" }
        return handle.dropFirst(8).prefix { $0 != "/" && $0 != ":" && $0 != "?" }.lowercased()
    }
}
