/// The availability of the hub, whose loss and return are each reported once.
struct HubPresence: Sendable, Equatable {
    /// Number of consecutive streams without an event that count as an absence.
    static let emptyStreams = 5

    private(set) var isAway = false
    private var empty = 0

    /// - Returns: True if the hub was available until now.
    mutating func failed() -> Bool { !exchange(&isAway, with: true) }

    /// Records that a stream was opened, which shows nothing while streams end as soon as they open.
    ///
    /// - Returns: True if the hub was not available until now.
    mutating func opened() -> Bool {
        guard isAway, empty < Self.emptyStreams else { return false }
        isAway = false
        return true
    }

    /// Records that an event arrived through a stream.
    ///
    /// - Returns: True if the hub was not available until now.
    mutating func received() -> Bool {
        empty = 0
        return exchange(&isAway, with: false)
    }

    /// Records that a stream ended; a hub that restarts ends all streams, which is not reported.
    ///
    /// - Parameter hadEvents: True if an event arrived through it.
    /// - Returns: True if the hub counts as not available from now on.
    mutating func ended(hadEvents: Bool) -> Bool {
        empty = hadEvents ? 0 : empty + 1
        return empty >= Self.emptyStreams && failed()
    }
}
