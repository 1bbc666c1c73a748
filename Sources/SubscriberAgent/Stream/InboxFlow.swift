import Signals
import Synchronization

/// Signals between the receiver and the worker of one inbox: rows have arrived, there is room again, and pending
/// messages are still arriving.
final class InboxFlow: Sendable {
    /// Number of rows that wait for a handler, including those of the last run.
    ///
    /// Below zero while a row is settled whose arrival is not counted yet: the worker can be faster than the receiver.
    private let waiting: Mutex<Int>
    private let isCatchingUp = Mutex(true)
    private let limit: Int
    private let arrivals = AsyncSignal()
    private let departures = AsyncSignal()
    private let catchUps = AsyncSignal()

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
        arrivals.signal()
    }

    func settled() {
        waiting.withLock { $0 -= 1 }
        departures.signal()
    }

    /// Returns when rows may have arrived, or the calling task was cancelled; for one worker.
    func waitForArrivals() async { await arrivals.wait() }

    /// Returns when half of the room is free, or on cancellation; not earlier, because a stream is opened then.
    func waitForRoom() async {
        await departures.wait { waiting.withLock { $0 <= limit / 2 } }
    }

    /// Records that a stream was opened, on which the hub first sends pending messages.
    func beginCatchingUp() { isCatchingUp.withLock { $0 = true } }

    /// Records that all pending messages have arrived, or that no more will arrive for now.
    func caughtUp() {
        isCatchingUp.withLock { $0 = false }
        catchUps.signal()
    }

    /// Returns when ``others`` counts all pending messages, or on cancellation; for one worker.
    func waitUntilCaughtUp() async {
        await catchUps.wait { isCatchingUp.withLock { !$0 } }
    }
}
