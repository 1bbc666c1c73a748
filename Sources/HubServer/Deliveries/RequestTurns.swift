import HubProtocol
import Synchronization

/// Limits how many expensive requests of one kind a hub works on at once; the others wait in the order of their arrival.
final class RequestTurns: Sendable {
    /// Requests that may wait for their turn.
    static let maximumWaiting = 64

    private struct State {
        var running = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let kind: String
    private let maximumRunning: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - kind: Names the requests in a refusal: "inquiries about messages".
    ///   - maximumRunning: Requests that are worked on at once, at least 1.
    init(_ kind: String, atOnce maximumRunning: Int = 1) {
        self.kind = kind
        self.maximumRunning = maximumRunning
    }

    /// Number of requests that wait for their turn.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs a piece of work when its turn has come.
    ///
    /// - Throws: 429 when too many requests wait, `CancellationError` when the request was cancelled; what the work throws.
    func pass<Output>(_ work: () async throws -> Output) async throws -> Output {
        try await take()
        defer { yield() }
        try Task.checkCancellation()
        return try await work()
    }

    private func take() async throws(ProtocolError) {
        // Two requests that look at the same time may both enter: the bound is against floods, not exact.
        guard waitingCount < Self.maximumWaiting else {
            throw .tooManyRequests("\(Self.maximumWaiting) \(kind) wait, which is the most; try again later.")
        }
        await withCheckedContinuation { continuation in
            let isMine = state.withLock { state in
                guard state.running == maximumRunning else {
                    state.running += 1
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
                state.running -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
