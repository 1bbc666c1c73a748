import HubProtocol

/// The targets that may be sent now.
enum Allowance: Equatable {
    case everything
    case oneProbe
    case nothing(until: Timestamp)

    /// Returns the targets that both allow.
    func and(_ other: Allowance) -> Allowance {
        switch (self, other) {
        case (.nothing(let first), .nothing(let second)): .nothing(until: max(first, second))
        case (.nothing, _), (.oneProbe, .everything), (.oneProbe, .oneProbe), (.everything, .everything): self
        case (_, .nothing), (.everything, .oneProbe): other
        }
    }
}

/// Decides whether a credential may be used.
///
/// A push service that refuses a credential refuses it for every target. Targets wait, and one probe at a time finds
/// out whether the service accepts the credential again.
struct CredentialCircuit: Sendable, Equatable {
    /// Waits between probes; the last one repeats.
    static let waits = [1, 2, 4, 8, 15].map { Duration.seconds($0 * 60) }

    private struct Refusal: Equatable {
        var reason: String
        let since: Timestamp
        var probeAt: Timestamp
        var probes = 0
        var isProbing = false
    }

    private var refusal: Refusal?

    /// The reason why the credential is not used; `nil` while it is.
    var reason: String? { refusal?.reason }
    /// Time of the first refusal.
    var since: Timestamp? { refusal?.since }

    func allowance(at now: Timestamp) -> Allowance {
        guard let refusal else { return .everything }
        if refusal.isProbing { return .nothing(until: refusal.probeAt) }
        // A clock that was set back must not make the wait longer.
        if now < refusal.probeAt, refusal.probeAt - now <= Self.waits[4] { return .nothing(until: refusal.probeAt) }
        return .oneProbe
    }

    /// Notes that a probe was sent.
    mutating func beginProbe() { refusal?.isProbing = true }

    /// Notes that a probe ended without an answer about the credential.
    mutating func endProbe(at now: Timestamp) {
        refusal?.isProbing = false
        refusal?.probeAt = now + Self.waits[0]
    }

    /// Notes that the service refused the credential.
    ///
    /// - Returns: True for the first refusal; further ones of requests in flight do not count.
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

    /// Notes that the service accepted the credential.
    ///
    /// - Returns: True if it was refused before.
    mutating func accept() -> Bool {
        defer { refusal = nil }
        return refusal != nil
    }
}
