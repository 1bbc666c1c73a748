import Dispatch
import Synchronization

/// Notifies a node that other nodes may have appended entries.
///
/// The leader of the log's servers publishes the number of each entry once it is stored. That message can be lost, so
/// there is a stroke after each loss of the connection, and one a second.
final class WakeUpBell: Sendable {
    /// The header with the name of the node that has appended an entry.
    static let origin = "Newswire-Node"

    private struct State {
        var last = 0
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var subscription: Subscription?
    }

    private let state = Mutex(State())
    /// `nonisolated(unsafe)`: Dispatch guards its objects with locks of its own.
    private nonisolated(unsafe) let timer = DispatchSource.makeTimerSource(
        queue: DispatchQueue(label: "newswire.log.wake")
    )

    init(_ connection: EngineConnection, _ configuration: ReplicatedLogConfiguration) throws(EngineFault) {
        let node = configuration.node
        let subscription = try connection.subscribe(configuration.subjects.stored) { [weak self] message in
            if message.header(Self.origin) != node { self?.ring() }
        }
        connection.onEvent { [weak self] event in
            if case .returned = event { self?.ring() }
        }
        timer.setEventHandler { [weak self] in self?.ring() }
        let interval = DispatchTimeInterval.nanoseconds(Int(configuration.wakeUpInterval.nanoseconds))
        timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
        timer.resume()
        state.withLock { $0.subscription = subscription }
    }

    deinit { timer.cancel() }

    /// An element for each stroke; consecutive ones may be merged.
    func strokes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.listeners[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
        return stream
    }

    private func ring() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield() }
    }
}
