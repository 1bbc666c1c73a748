import HubProtocol
import Synchronization

/// Keeps a request that another node has passed on from being executed late.
///
/// The client may have got 503 from the other node, and then made newer changes, which a late execution would undo. Each
/// stage of the request's first change therefore checks the fence, and refuses the change if it is closed. Other changes
/// of the request belong to the first one.
final class RequestFence: Sendable {
    /// The fence of the request that is being executed; `nil` for a request of a client of this node.
    @TaskLocal static var current: RequestFence?

    private struct State {
        var wasRefused = false
        var wasExecuted = false
    }

    private let isOpen: @Sendable () -> Bool
    private let state = Mutex(State())

    /// `isOpen` is called at each stage, on the database's thread.
    init(isOpen: @escaping @Sendable () -> Bool) { self.isOpen = isOpen }

    /// - Throws: 503 if the request is late, and nothing of it was executed.
    func check() throws(ProtocolError) {
        guard !state.withLock({ $0.wasExecuted }), !isOpen() else { return }
        state.withLock { $0.wasRefused = true }
        throw .unavailable("The request came late from another node, and was not executed; try again shortly.")
    }

    /// Notes that a change of the request is durable.
    func noteExecution() { state.withLock { $0.wasExecuted = true } }

    /// True if the request was refused, and nothing of it was executed.
    var hasRefused: Bool { state.withLock { $0.wasRefused && !$0.wasExecuted } }
}
