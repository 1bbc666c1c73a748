import HubProtocol
import Synchronization

/// Limits the number of expensive requests of one kind that a hub works on at once; others wait in order of arrival.
final class RequestTurns: Sendable {
    /// Maximum number of waiting requests.
    static let maximumWaiting = 64

    private struct State {
        var running = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let kind: String
    private let maximumRunning: Int
    private let state = Mutex(State())

    /// Creates turns for one kind of request.
    ///
    /// - Parameters:
    ///   - kind: Names the requests in a refusal: "inquiries about messages".
    ///   - maximumRunning: Number of requests that are worked on at once, at least 1.
    init(_ kind: String, atOnce maximumRunning: Int = 1) {
        self.kind = kind
        self.maximumRunning = maximumRunning
    }

    /// Number of waiting requests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs a piece of work when its turn has come.
    ///
    /// - Throws: 429 if too many requests wait; `CancellationError` if the request was cancelled; any error of the
    ///   work.
    func pass<Output>(_ work: () async throws -> Output) async throws -> Output {
        try await take()
        defer { yield() }
        try Task.checkCancellation()
        return try await work()
    }

    private func take() async throws(ProtocolError) {
        // Two requests that check at the same time may both enter: the limit protects against floods, and need not be
        // exact.
        guard waitingCount < Self.maximumWaiting else {
            throw .tooManyRequests("\(Self.maximumWaiting) \(kind) are waiting, which is the maximum; try again later.")
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
