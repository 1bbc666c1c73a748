import Synchronization

/// Signals between the receiver and the worker of one inbox: rows arrived, there is room again, and more of the missed
/// messages are on their way.
final class InboxFlow: Sendable {
    /// Number of rows that wait for a handler; begins with those that the last run left.
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

    /// Number of rows that wait after the one in progress.
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

    /// Returns when rows may have arrived, or the calling task was cancelled; for one worker.
    func waitForArrivals() async {
        for await _ in arrivals.stream { return }
    }

    /// Returns when half of the room is free, so that a stream is not reopened for every row, or on cancellation.
    func waitForRoom() async {
        while waiting.withLock({ $0 > limit / 2 }), !Task.isCancelled {
            for await _ in departures.stream { break }
        }
    }

    /// Records that a stream was opened, on which the hub first sends what it has kept for us.
    func beginCatchingUp() { isCatchingUp.withLock { $0 = true } }

    /// Records that all of it has arrived, or that no more will for now.
    func caughtUp() {
        isCatchingUp.withLock { $0 = false }
        catchUps.continuation.yield()
    }

    /// Returns when ``others`` counts everything that waits, or on cancellation; for one worker.
    func waitUntilCaughtUp() async {
        while isCatchingUp.withLock({ $0 }), !Task.isCancelled {
            for await _ in catchUps.stream { break }
        }
    }
}
