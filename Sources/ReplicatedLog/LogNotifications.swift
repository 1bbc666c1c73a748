import Dispatch
import Synchronization

/// Notifies a node that other nodes may have appended entries.
///
/// The leader of the log's servers publishes each entry once a majority has stored it. That message can be lost, so there
/// is a notification after each loss of the connection, and one a second, after which the log must be asked.
final class LogNotifications: Sendable {
    /// The header with the name of the node that has appended an entry.
    static let origin = "Newswire-Node"

    private struct State {
        var last = 0
        var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
        var subscription: SubjectSubscription?
    }

    let announced = AnnouncedEntries()
    private let state = Mutex(State())
    /// `nonisolated(unsafe)`: Dispatch guards its objects with locks of its own.
    private nonisolated(unsafe) let timer = DispatchSource.makeTimerSource(
        queue: DispatchQueue(label: "newswire.log.wake")
    )

    /// Listens for the entries that are stored under `subject`.
    init(
        _ connection: EngineConnection,
        _ configuration: ReplicatedLogConfiguration,
        entries subject: String
    ) throws(EngineFault) {
        let node = configuration.node
        let subscription = try connection.subscribe(configuration.subjects.stored) { [weak self] message in
            self?.hear(message, of: subject, asNode: node)
        }
        connection.onEvent { [weak self] event in
            if case .returned = event { self?.ringInDoubt() }
        }
        timer.setEventHandler { [weak self] in self?.ringInDoubt() }
        let interval = DispatchTimeInterval.nanoseconds(Int(configuration.wakeUpInterval.nanoseconds))
        timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
        timer.resume()
        state.withLock { $0.subscription = subscription }
    }

    deinit { timer.cancel() }

    /// An element for each notification; consecutive ones may be merged.
    func wakeUps() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.last += 1
            state.listeners[state.last] = continuation
            return state.last
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
        return stream
    }

    private func hear(_ message: borrowing ArrivedMessage, of subject: String, asNode node: String) {
        let isOwn = message.header(Self.origin) == node
        // Another log of the same name has other entries.
        if let number = message.header("Nats-Sequence").flatMap(UInt64.init), message.header("Nats-Subject") == subject
        {
            announced.add(number, isOwn ? nil : message.data)
        } else {
            announced.doubt()
        }
        if !isOwn { ring() }
    }

    private func ringInDoubt() {
        announced.doubt()
        ring()
    }

    private func ring() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield() }
    }
}
