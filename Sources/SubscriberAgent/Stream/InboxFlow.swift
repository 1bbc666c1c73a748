import Synchronization

/// Signals between the receiver and the worker of one inbox: rows arrived, there is room again, and more of the
/// messages that were missed is on its way.
final class InboxFlow: Sendable {
    /// Rows waiting for a handler; starts at what the last run left.
    private let waiting: Mutex<Int>
    private let isCatchingUp = Mutex(true)
    private let limit: Int
    private let arrivals = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let departures = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    private let catchUps = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    init(waiting: Int, limit: Int) {
        self.waiting = Mutex(waiting)
        self.limit = limit
    }

    var isFull: Bool { waiting.withLock { $0 >= limit } }

    /// Rows waiting behind the one in work.
    var others: Int { waiting.withLock { max(0, $0 - 1) } }

    func arrived(_ count: Int) {
        guard count > 0 else { return }
        waiting.withLock { $0 += count }
        arrivals.continuation.yield()
    }

    func settled() {
        waiting.withLock { $0 = max(0, $0 - 1) }
        departures.continuation.yield()
    }

    /// Returns when rows may have come, or the calling task was cancelled; for one worker.
    func waitForArrivals() async {
        for await _ in arrivals.stream { return }
    }

    /// Returns when half of the room is free, so that a stream is not opened anew for every row, or on cancellation.
    func waitForRoom() async {
        while waiting.withLock({ $0 > limit / 2 }), !Task.isCancelled {
            for await _ in departures.stream { break }
        }
    }

    /// A stream was opened: what the hub has kept for us comes first.
    func beginCatchingUp() { isCatchingUp.withLock { $0 = true } }

    /// All of that has come, or no more of it does for now.
    func caughtUp() {
        isCatchingUp.withLock { $0 = false }
        catchUps.continuation.yield()
    }

    /// Returns when ``others`` tells the whole of what waits, or on cancellation; for one worker.
    func waitUntilCaughtUp() async {
        while isCatchingUp.withLock({ $0 }), !Task.isCancelled {
            for await _ in catchUps.stream { break }
        }
    }
}
