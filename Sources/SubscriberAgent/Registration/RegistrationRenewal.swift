import HubProtocol
import ServerSentEvents

/// Decides when an agent that listens registers again.
///
/// A hub that was restored from an older copy has the choice of that time. It has another epoch then, and its streams
/// announce a gap. An ordinary restart brings another epoch too, so an agent registers at most once for each stream and
/// epoch; the hub writes nothing for a choice that it has already.
struct RegistrationRenewal {
    /// The epoch of the hub that took the last registration, as far as it is known.
    private var epoch: String?
    /// The stream was opened right after a registration, so its epoch is that of the registration.
    private var isFresh = false
    /// This stream has led to a registration.
    private var isSpent = false
    private var isWanted = false
    private var notBefore: Duration?

    mutating func streamOpened(isJustRegistered: Bool) {
        isFresh = isJustRegistered
        isSpent = isJustRegistered
        if isJustRegistered { isWanted = false }
        notBefore = nil
    }

    /// Takes note of what an event says of the hub.
    mutating func saw(_ event: ServerSentEvent) {
        if let seen = event.id.flatMap({ StreamPosition(parsing: $0) })?.epoch, seen != epoch {
            if !isFresh { want() }
            epoch = seen
            isFresh = false
        }
        if event.event == StreamEventName.gap { want() }
    }

    private mutating func want() {
        guard !isSpent else { return }
        isSpent = true
        isWanted = true
    }

    /// `now` is a monotonic instant.
    func isDue(at now: Duration) -> Bool { isWanted && now >= notBefore ?? now }

    mutating func registered() {
        isWanted = false
        notBefore = nil
    }

    mutating func failed(tryAgainAt instant: Duration) { notBefore = instant }
}
