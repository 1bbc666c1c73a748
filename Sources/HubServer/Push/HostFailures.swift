import HubProtocol

/// Hosts of a push service that keep failing, or asked for a pause.
///
/// Channels and endpoints name hosts, and one host must not hold up another. A service with hosts of its own counts as
/// one host with an empty name.
///
/// A host that keeps failing is asked again every few seconds with one request, even while earlier ones have no answer:
/// a long outage must not become a longer one.
struct HostFailures: Sendable {
    /// Failures in a row after which a host is paused.
    static let failuresInRow = 64
    /// Time between two probes of a host that keeps failing.
    static let probeInterval = Duration.seconds(2)
    /// Hosts to remember; devices can name any number.
    static let maximumHosts = 1_000
    /// Time after its last failure for which a paused host is reported: while something waits for it, it is asked again
    /// within ``RetryWait/maximum``, and that may take as long as a request without an answer.
    static let reportedAfterFailure = RetryWait.maximum + .seconds(60)

    private struct Record {
        /// Failures in a row.
        var failures = 0
        /// The time since which the host has been paused for its failures; `nil` if it is not.
        var pausedAt: Timestamp?
        var failedAt = Timestamp.distantPast
        var probeAt = Timestamp.distantPast
        /// The time at which the host asked for a pause, and its end.
        var askedAt = Timestamp.distantPast
        var askedUntil = Timestamp.distantPast

        func askedPause(at now: Timestamp) -> Timestamp? {
            // A clock that was set back must not make the pause longer.
            askedUntil > now && askedUntil <= now + DeliveryLane.longestPause ? askedUntil : nil
        }
    }

    private var hosts: [String: Record] = [:]

    /// The targets of a host that may be sent now.
    func allowance(_ host: String, at now: Timestamp) -> Allowance {
        guard let record = hosts[host] else { return .everything }
        if let end = record.askedPause(at: now) { return .nothing(until: end) }
        guard record.pausedAt != nil else { return .everything }
        // A clock that was set back must not make the wait longer.
        let isWaiting = now < record.probeAt && record.probeAt <= now + Self.probeInterval
        return isWaiting ? .nothing(until: record.probeAt) : .oneProbe
    }

    /// Returns the end of the pause that a host has asked for; `nil` if it has not, or the pause has ended.
    func askedPause(_ host: String, at now: Timestamp) -> Timestamp? { hosts[host]?.askedPause(at: now) }

    /// The paused hosts, each with the time until which that is to be reported unless it fails again.
    var pauses: [String: Timestamp] {
        hosts.compactMapValues { record in
            let failing = record.pausedAt == nil ? Timestamp.distantPast : record.failedAt + Self.reportedAfterFailure
            let end = max(failing, record.askedUntil)
            return end == .distantPast ? nil : end
        }
    }

    /// Notes that a target was sent to a paused host.
    mutating func beginProbe(_ host: String, at now: Timestamp) {
        if hosts[host]?.pausedAt != nil { hosts[host]?.probeAt = now + Self.probeInterval }
    }

    /// Notes that a host has answered a request that began at a time; earlier failures no longer count.
    mutating func noteSuccess(_ host: String, begunAt: Timestamp) {
        guard let record = hosts[host] else { return }
        // A request that began earlier says nothing about the pause that the host has asked for since then.
        if record.askedUntil > begunAt, begunAt < record.askedAt {
            hosts[host] = Record(askedAt: record.askedAt, askedUntil: record.askedUntil)
        } else {
            hosts[host] = nil
        }
    }

    /// Notes a failure; what is in flight when a pause begins says nothing new.
    ///
    /// `fraction` is a random number from 0 to 1, so that hubs do not probe together.
    mutating func noteFailure(_ host: String, at now: Timestamp, fraction: Double) {
        var record = hosts[host] ?? Record()
        record.failedAt = now
        guard record.pausedAt == nil else { return keep(record, host) }
        record.failures += 1
        if record.failures >= Self.failuresInRow {
            record.pausedAt = now
            record.probeAt = now + Self.probeInterval * fraction
        }
        keep(record, host)
    }

    /// Pauses a host that asked for it.
    mutating func pause(_ host: String, for wait: Duration, at now: Timestamp) {
        var record = hosts[host] ?? Record()
        record.askedAt = now
        record.askedUntil = max(record.askedUntil, now + wait)
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
