package import HubStore
import Synchronization

/// Messages in memory between nodes of a hub.
package final class MemoryChannel: Sendable {
    /// A fault of one request.
    package enum Fault: Sendable {
        /// The node that is asked gets nothing.
        case lost(NodeChannelError)
        /// The node that is asked answers, and its answer does not arrive.
        case unanswered(NodeChannelError)
    }

    private typealias Answer = @Sendable ([UInt8]) async -> [UInt8]

    /// A node that hears announcements, one after the other.
    private struct Listener {
        var waiting: [[UInt8]] = []
        /// The node, while it has nothing to do.
        var idle: CheckedContinuation<[UInt8]?, Never>?
        var hasEnded = false
        /// Those that wait until it has heard all.
        var settlers: [CheckedContinuation<Void, Never>] = []
    }

    private struct State {
        var listeners: [String: Listener] = [:]
        var answers: [String: Answer] = [:]
        var faults: [Fault] = []
        var requests: [String] = []
        var silent: Set<String> = []
    }

    private let state = Mutex(State())

    package init() {}

    package func node(_ name: String) -> Node { Node(channel: self, name: name) }

    /// Each of the next requests meets one fault.
    package func fail(_ faults: Fault...) { state.withLock { $0.faults += faults } }

    /// No announcement of a node reaches the others any more.
    package func silence(_ name: String) { state.withLock { _ = $0.silent.insert(name) } }

    /// The nodes that were asked so far, one name for each request.
    package var requests: [String] { state.withLock { $0.requests } }

    /// Returns when a node has heard all that was announced before.
    package func settle(_ name: String) async {
        await withCheckedContinuation { continuation in
            let isSettled = state.withLock { state in
                guard let listener = state.listeners[name], listener.idle == nil, !listener.hasEnded else {
                    return true
                }
                state.listeners[name]?.settlers.append(continuation)
                return false
            }
            if isSettled { continuation.resume() }
        }
    }

    private func announce(_ announcement: [UInt8], from name: String) {
        let idle = state.withLock { state -> [CheckedContinuation<[UInt8]?, Never>] in
            guard !state.silent.contains(name) else { return [] }
            return state.listeners.keys.filter { $0 != name }.compactMap { other in
                if let idle = state.listeners[other]?.idle.take() { return idle }
                state.listeners[other]?.waiting.append(announcement)
                return nil
            }
        }
        for listener in idle { listener.resume(returning: announcement) }
    }

    /// The next announcement to a node; `nil` when it hears no more.
    private func nextAnnouncement(to name: String) async -> [UInt8]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (next, settlers) = state.withLock { state -> ([UInt8]??, [CheckedContinuation<Void, Never>]) in
                    var listener = state.listeners[name, default: Listener()]
                    defer { state.listeners[name] = listener }
                    if listener.hasEnded { return (.some(nil), []) }
                    guard listener.waiting.isEmpty else { return (listener.waiting.removeFirst(), []) }
                    listener.idle = continuation
                    defer { listener.settlers = [] }
                    return (nil, listener.settlers)
                }
                if let next { continuation.resume(returning: next) }
                for settler in settlers { settler.resume() }
            }
        } onCancel: {
            let (idle, settlers) = state.withLock { state in
                state.listeners[name]?.hasEnded = true
                defer { state.listeners[name]?.settlers = [] }
                return (state.listeners[name]?.idle.take(), state.listeners[name]?.settlers ?? [])
            }
            idle?.resume(returning: nil)
            for settler in settlers { settler.resume() }
        }
    }

    /// True if a node answers requests.
    package func isServing(_ name: String) -> Bool { state.withLock { $0.answers[name] != nil } }

    /// The channel as one node has it.
    package struct Node: NodeChannel {
        fileprivate let channel: MemoryChannel
        fileprivate let name: String

        package func announce(_ announcement: [UInt8]) { channel.announce(announcement, from: name) }

        package func announcements() -> AsyncStream<[UInt8]> {
            channel.state.withLock { $0.listeners[name] = Listener() }
            return AsyncStream { await channel.nextAnnouncement(to: name) }
        }

        package func request(
            _ request: [UInt8],
            of node: String,
            timeout: Duration
        ) async throws(NodeChannelError) -> [UInt8] {
            let (answer, fault) = channel.state.withLock { state in
                state.requests.append(node)
                return (state.answers[node], state.faults.isEmpty ? nil : state.faults.removeFirst())
            }
            if case .lost(let error) = fault { throw error }
            guard let answer else { throw .absent }
            let bytes = await answer(request)
            if case .unanswered(let error) = fault { throw error }
            return bytes
        }

        package func serve(_ answer: @escaping @Sendable ([UInt8]) async -> [UInt8]) async {
            channel.state.withLock { $0.answers[name] = answer }
            let (ending, end) = AsyncStream<Void>.makeStream()
            await withTaskCancellationHandler {
                for await _ in ending {}
            } onCancel: {
                end.finish()
            }
            channel.state.withLock { $0.answers[name] = nil }
        }
    }
}
