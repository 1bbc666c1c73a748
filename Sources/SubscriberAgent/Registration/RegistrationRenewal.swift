import HubProtocol
import ServerSentEvents

/// Decides when an agent that listens registers again.
///
/// A hub that was restored from a backup has the choice of that time. It then has another epoch, and its streams
/// announce a gap. An ordinary restart also begins another epoch, so an agent registers at most once for each stream
/// and epoch; the hub writes nothing for a choice that it already has.
struct RegistrationRenewal {
    /// The epoch of the hub at the last registration, if known.
    private var epoch: String?
    /// True if the stream was opened right after a registration, so that its epoch is that of the registration.
    private var isFresh = false
    /// True if this stream has led to a registration.
    private var isSpent = false
    private var isWanted = false
    private var notBefore: Duration?

    mutating func streamOpened(isJustRegistered: Bool) {
        isFresh = isJustRegistered
        isSpent = isJustRegistered
        if isJustRegistered { isWanted = false }
        notBefore = nil
    }

    /// Notes the epoch of an event, and gaps.
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

    /// True if a registration is due; `now` is a monotonic instant.
    func isDue(at now: Duration) -> Bool { isWanted && now >= notBefore ?? now }

    mutating func registered() {
        isWanted = false
        notBefore = nil
    }

    mutating func failed(tryAgainAt instant: Duration) { notBefore = instant }
}
