import HubRouting
import NIOCore

/// Limits the number of streams with heavy templates that have a page of the store in flight on one event loop.
///
/// Such a page may hold half a megabyte, and stays in memory until its client has read it. Clients that do not read
/// delay other heavy streams only, and no longer than ``StreamLoop/stall``.
struct HeavyTurns {
    /// Maximum number of streams with a page in flight.
    static let maximum = 32

    private var running: Set<StreamID> = []
    private var waiting = CircularBuffer<StreamSession>()
    private var known: Set<StreamID> = []

    /// - Returns: False if the stream has to wait for its turn, which ``release(_:)`` gives it.
    mutating func take(_ session: StreamSession) -> Bool {
        let id = session.id
        if running.contains(id) { return true }
        guard running.count < Self.maximum else {
            if known.insert(id).inserted { waiting.append(session) }
            return false
        }
        running.insert(id)
        return true
    }

    /// Ends a stream's turn.
    ///
    /// - Returns: The stream whose turn begins; `nil` if none waits, or if this one had no turn.
    mutating func release(_ session: StreamSession) -> StreamSession? {
        guard running.remove(session.id) != nil else { return nil }
        while let next = waiting.popFirst() {
            known.remove(next.id)
            guard !next.hasEnded else { continue }
            running.insert(next.id)
            return next
        }
        return nil
    }
}
