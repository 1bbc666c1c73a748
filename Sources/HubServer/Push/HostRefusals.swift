import HubProtocol

/// Hosts of browsers' push services that refuse the sender's key or contact, whatever is sent with it.
///
/// Each browser names its own push service, and one that refuses the sender must not stop the others. A service may
/// give the same answer about a single subscription, so that only several refusals in a row count.
struct HostRefusals: Sendable {
    /// Refusals in a row after which a host is paused.
    static let refusalsInRow = 3
    /// Wait of a refused target while its host is not paused.
    static let shortWait = Duration.seconds(5)

    private struct Record {
        var circuit = CredentialCircuit()
        var refusals = 0
        /// Number of answers that were not refusals.
        var answers = 0
    }

    private var hosts: [String: Record] = [:]

    /// The targets of a host that may be sent now.
    func allowance(_ host: String, at now: Timestamp) -> Allowance {
        hosts[host]?.circuit.allowance(at: now) ?? .everything
    }

    /// The paused hosts, with the reasons of their last refusals.
    var reasons: [String: String] { hosts.compactMapValues(\.circuit.reason) }

    func isPaused(_ host: String) -> Bool { hosts[host]?.circuit.reason != nil }

    /// Number of a host's answers that were not refusals.
    func answers(_ host: String) -> Int { hosts[host]?.answers ?? 0 }

    /// Notes that a target was sent to a paused host.
    mutating func beginProbe(_ host: String) { hosts[host]?.circuit.beginProbe() }

    /// Notes that a probe ended without an answer about the sender.
    mutating func endProbe(_ host: String, at now: Timestamp) {
        if hosts[host]?.circuit.reason != nil { hosts[host]?.circuit.endProbe(at: now) }
    }

    /// Notes that a host refused the sender.
    ///
    /// - Returns: True if the host is paused now, and was not before.
    mutating func refuse(_ host: String, _ reason: String, at now: Timestamp) -> Bool {
        var record = hosts[host] ?? Record()
        record.refusals += 1
        var isFirst = false
        if record.refusals >= Self.refusalsInRow { isFirst = record.circuit.refuse(reason, at: now) }
        keep(record, host)
        return isFirst
    }

    /// Notes any other answer of a host.
    ///
    /// - Returns: True if the host was paused before.
    mutating func accept(_ host: String) -> Bool {
        var record = hosts[host] ?? Record()
        record.answers += 1
        record.refusals = 0
        let wasPaused = record.circuit.accept()
        keep(record, host)
        return wasPaused
    }

    /// Forgets a paused host for which nothing waits any more: nothing is left to probe it with.
    ///
    /// - Returns: False if the host was not paused.
    mutating func forget(_ host: String) -> Bool {
        guard isPaused(host) else { return false }
        hosts[host] = nil
        return true
    }

    private mutating func keep(_ record: Record, _ host: String) {
        if hosts[host] == nil, hosts.count >= HostFailures.maximumHosts {
            // Those that are paused are reported to operators.
            let some = hosts.first { $0.value.circuit.reason == nil }?.key ?? hosts.keys.first
            if let some { hosts[some] = nil }
        }
        hosts[host] = record
    }
}
