/// The presence of the hub, so that its loss and its return are each reported once.
struct HubPresence: Sendable, Equatable {
    /// Number of consecutive streams without an event that count as an absence.
    static let emptyStreams = 5

    private(set) var isAway = false
    private var empty = 0

    /// - Returns: True if this is news.
    mutating func failed() -> Bool {
        defer { isAway = true }
        return !isAway
    }

    /// Records that a stream was opened, which counts only if streams do not end as soon as they open.
    ///
    /// - Returns: True if this is news.
    mutating func opened() -> Bool {
        guard isAway, empty < Self.emptyStreams else { return false }
        isAway = false
        return true
    }

    /// Records that something arrived through a stream.
    ///
    /// - Returns: True if this is news.
    mutating func received() -> Bool {
        empty = 0
        defer { isAway = false }
        return isAway
    }

    /// Records that a stream ended; a hub that restarts ends all streams, which is not news.
    ///
    /// - Parameter hadEvents: True if anything arrived through it.
    /// - Returns: True if this is news.
    mutating func ended(hadEvents: Bool) -> Bool {
        empty = hadEvents ? 0 : empty + 1
        return empty >= Self.emptyStreams && failed()
    }
}
