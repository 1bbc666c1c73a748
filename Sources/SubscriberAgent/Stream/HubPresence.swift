/// The presence of the hub, so that its loss and its return are each reported once.
struct HubPresence: Sendable, Equatable {
    /// Streams in a row that end without an event, until that too counts as away.
    static let emptyStreams = 5

    private(set) var isAway = false
    private var empty = 0

    /// - Returns: Whether this is news.
    mutating func failed() -> Bool {
        defer { isAway = true }
        return !isAway
    }

    /// A stream was opened; that is not believed while streams end as soon as they open.
    ///
    /// - Returns: Whether this is news.
    mutating func opened() -> Bool {
        guard isAway, empty < Self.emptyStreams else { return false }
        isAway = false
        return true
    }

    /// Something came through a stream.
    ///
    /// - Returns: Whether this is news.
    mutating func received() -> Bool {
        empty = 0
        defer { isAway = false }
        return isAway
    }

    /// A stream ended; a hub that restarts ends all of them, which is no news.
    ///
    /// - Parameter hadEvents: Whether anything came through it.
    /// - Returns: Whether this is news.
    mutating func ended(hadEvents: Bool) -> Bool {
        empty = hadEvents ? 0 : empty + 1
        return empty >= Self.emptyStreams && failed()
    }
}
