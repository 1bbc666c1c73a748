import HubProtocol

/// Whether a credential may be used.
///
/// A push service that refuses a credential refuses it for everybody: targets wait, and one probe at a time finds out
/// whether it is taken again.
struct CredentialCircuit: Sendable, Equatable {
    /// Between two probes; the last one stays.
    static let waits = [1, 2, 4, 8, 15].map { Duration.seconds($0 * 60) }

    private struct Refusal: Equatable {
        var reason: String
        let since: Timestamp
        var probeAt: Timestamp
        var probes = 0
        var isProbing = false
    }

    private var refusal: Refusal?

    /// Why the credential is not used; `nil` while it is.
    var reason: String? { refusal?.reason }
    /// When it was first refused.
    var since: Timestamp? { refusal?.since }

    /// What may be sent now.
    enum Allowance: Equatable {
        case everything
        case oneProbe
        case nothing(until: Timestamp)
    }

    func allowance(at now: Timestamp) -> Allowance {
        guard let refusal else { return .everything }
        if refusal.isProbing { return .nothing(until: refusal.probeAt) }
        // A clock that was set back must not make the wait longer.
        if now < refusal.probeAt, refusal.probeAt - now <= Self.waits[4] { return .nothing(until: refusal.probeAt) }
        return .oneProbe
    }

    /// A probe was sent.
    mutating func beginProbe() { refusal?.isProbing = true }

    /// A probe ended without an answer about the credential.
    mutating func endProbe(at now: Timestamp) {
        refusal?.isProbing = false
        refusal?.probeAt = now + Self.waits[0]
    }

    /// The service refused the credential.
    ///
    /// - Returns: True if it was not refused before: streams that say the same do not count.
    mutating func refuse(_ reason: String, at now: Timestamp) -> Bool {
        guard var refusal else {
            self.refusal = Refusal(reason: reason, since: now, probeAt: now + Self.waits[0])
            return true
        }
        refusal.reason = reason
        if refusal.isProbing {
            refusal.isProbing = false
            refusal.probes = min(refusal.probes + 1, Self.waits.count - 1)
            refusal.probeAt = now + Self.waits[refusal.probes]
        }
        self.refusal = refusal
        return false
    }

    /// The service took the credential.
    ///
    /// - Returns: True if it was refused before.
    mutating func accept() -> Bool {
        defer { refusal = nil }
        return refusal != nil
    }
}
