import HubProtocol
import Synchronization

/// Lets one inquiry of a hub run at a time, since each may look at all that the hub has; the others wait for their turn, in the
/// order in which they came.
final class InquiryTurns: Sendable {
    /// Inquiries that wait for their turn.
    static let maximumWaiting = 64

    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Does a piece of work when it has its turn.
    ///
    /// - Throws: 429 when too many wait, `CancellationError` when nobody wants the answer any more; what the work throws.
    func pass<Output>(_ work: () async throws -> Output) async throws -> Output {
        try await take()
        defer { yield() }
        try Task.checkCancellation()
        return try await work()
    }

    private func take() async throws(ProtocolError) {
        // Two who look at once may both come in: the bound is against floods, not exact.
        guard waitingCount < Self.maximumWaiting else {
            throw ProtocolError(
                status: 429,
                code: 42900,
                detail: "\(Self.maximumWaiting) inquiries about messages wait, which is the most; try again later."
            )
        }
        await withCheckedContinuation { continuation in
            let isMine = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isMine { continuation.resume() }
        }
    }

    private func yield() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
