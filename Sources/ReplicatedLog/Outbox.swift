import Dispatch
import Synchronization

/// Collects what is to be sent to the same subject, so that a crowd of requests does not become as many messages.
final class Outbox<Item: Sendable>: Sendable {
    /// Time for which more items are awaited after several came together; a single one is sent at once.
    private static var gathering: DispatchTimeInterval { .microseconds(300) }

    private struct State {
        var waiting: [String: [Item]] = [:]
        var isScheduled = false
        /// True if the last message to a subject had several items.
        var isCrowded = false
    }

    private let queue: DispatchQueue
    private let send: @Sendable (_ subject: String, [Item]) -> Void
    private let state = Mutex(State())

    /// Calls `send` on `queue`.
    init(_ queue: DispatchQueue, send: @escaping @Sendable (_ subject: String, [Item]) -> Void) {
        self.queue = queue
        self.send = send
    }

    func add(_ item: Item, to subject: String) {
        let (isFirst, isCrowded) = state.withLock { state in
            state.waiting[subject, default: []].append(item)
            defer { state.isScheduled = true }
            return (!state.isScheduled, state.isCrowded)
        }
        guard isFirst else { return }
        if isCrowded {
            queue.asyncAfter(deadline: .now() + Self.gathering) { self.flush() }
        } else {
            queue.async { self.flush() }
        }
    }

    private func flush() {
        let waiting = state.withLock { state in
            state.isScheduled = false
            state.isCrowded = state.waiting.values.contains { $0.count > 1 }
            defer { state.waiting = [:] }
            return state.waiting
        }
        for (subject, items) in waiting { send(subject, items) }
    }
}
