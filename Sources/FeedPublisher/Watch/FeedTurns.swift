internal import FeedLists
internal import Signals
internal import Synchronization

/// Turns in a publisher that keeps running: one pass at a time for a host, one task at a time for a feed.
final class FeedTurns: Sendable {
    private struct State {
        /// The feeds that passes have taken, with the pass and the feeds' hosts.
        var taken: [Int64: (pass: Int, hosts: Set<String>)] = [:]
        var passes = 0
        /// Hosts that did not reply, with the time until which they are not polled.
        var silent: [String: ContinuousClock.Instant] = [:]
    }

    private let state = Mutex(State())
    /// Work on feeds' records, by feed in the order of the calls; passes, of which there are few, and deliveries in
    /// progress may wait.
    let records = TurnQueue<Int64>()

    /// Returns a number for a new pass, with which it takes and releases feeds.
    func begin() -> Int {
        state.withLock { state in
            state.passes += 1
            return state.passes
        }
    }

    /// True if a pass has taken the feed or `limit` feeds of its hosts, or one of the hosts did not reply recently.
    func isBusy(_ feed: Int64, on hosts: Set<String>, limit: Int) -> Bool {
        state.withLock { state in
            if state.taken[feed] != nil || hosts.contains(where: { state.silent[$0].map { $0 > .now } ?? false }) {
                return true
            }
            var left = limit
            for (_, others) in state.taken.values where !others.isDisjoint(with: hosts) {
                left -= 1
                if left == 0 { return true }
            }
            return false
        }
    }

    func take(_ feed: Int64, _ hosts: Set<String>, for pass: Int) {
        state.withLock { $0.taken[feed] = (pass, hosts) }
    }

    /// Releases a feed that a pass holds; does nothing if another pass has taken it since.
    func release(_ feed: Int64, of pass: Int) {
        state.withLock { state in
            if state.taken[feed]?.pass == pass { state.taken[feed] = nil }
        }
    }

    func leave(_ host: String, for pause: Duration) {
        state.withLock { state in
            state.silent = state.silent.filter { $0.value > .now }
            state.silent[host] = .now + pause
        }
    }
}

/// The connection of a pass with the publisher that keeps running.
struct WatchContext: Sendable {
    /// Time for which a host that did not reply is not polled: as long as a timer would wait for the next pass.
    private static let silence: Duration = .seconds(300)

    let turns: FeedTurns
    let pass: Int
    let wakeSender: AsyncSignal
    let subscriber: WebSubSubscriber?

    func take(_ turn: PublishPass.Turn, _ hosts: Set<String>) { turns.take(turn.record.id, hosts, for: pass) }

    func release(_ turn: PublishPass.Turn) { turns.release(turn.record.id, of: pass) }

    func leave(_ host: String) { turns.leave(host, for: Self.silence) }

    /// Updates hosts and subscriptions after a feed's turn, while nothing else uses the feed.
    ///
    /// `before` is the feed's record before the turn.
    func polled(_ source: FeedSource, _ before: FeedRecord, _ outcome: FeedPoll.Outcome) throws {
        if outcome.announced > 0 { wakeSender.signal() }
        try subscriber?.polled(source, before, outcome)
    }
}
