internal import Synchronization

/// Whose turn it is, in a publisher that stays: of one host one pass at a time, of one feed one task.
final class FeedTurns: Sendable {
    private struct State {
        /// The hosts of feeds that passes have taken.
        var taken: [Int64: Set<String>] = [:]
        /// Feeds that somebody is at work on, with those who wait.
        var held: [Int64: [CheckedContinuation<Void, Never>]] = [:]
    }

    private let state = Mutex(State())

    func isBusy(anyOf hosts: Set<String>) -> Bool {
        state.withLock { state in state.taken.values.contains { !$0.isDisjoint(with: hosts) } }
    }

    func take(_ feed: Int64, _ hosts: Set<String>) { state.withLock { $0.taken[feed] = hosts } }

    /// To be called again does no harm.
    func release(_ feed: Int64) { state.withLock { _ = $0.taken.removeValue(forKey: feed) } }

    /// Does some work on a feed's record, after whoever is at work on it; in the order of the calls.
    func holding<Value>(_ feed: Int64, _ work: () async throws -> Value) async throws -> Value {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                if state.held[feed] == nil {
                    state.held[feed] = []
                    return true
                }
                state.held[feed]?.append(continuation)
                return false
            }
            if isFirst { continuation.resume() }
        }
        defer { pass(on: feed) }
        return try await work()
    }

    private func pass(on feed: Int64) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.held[feed]?.isEmpty == false else {
                state.held[feed] = nil
                return nil
            }
            return state.held[feed]?.removeFirst()
        }
        next?.resume()
    }
}

/// What a publisher that stays adds to the turns of its passes.
struct ResidentTurns: Sendable {
    let turns: FeedTurns
    let store: PublisherStore
    /// Called with the feed as it was before, while nobody else is at work on it.
    let polled: @Sendable (FeedPoll, FeedRecord, FeedPoll.Outcome) throws -> Void

    /// Asks for a feed as it stands when its turn has come.
    func poll(_ turn: PublishPass.Turn, _ poll: FeedPoll) async throws -> FeedPoll.Outcome {
        try await turns.holding(turn.record.id) {
            let record = try store.feed(turn.record.id) ?? turn.record
            let outcome = try await poll.run(record)
            if !outcome.isCancelled { try polled(poll, record, outcome) }
            return outcome
        }
    }
}
