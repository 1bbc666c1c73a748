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

    /// A request that a paused node will find when it goes on.
    private struct Waiting {
        let request: [UInt8]
        let isHopeless: @Sendable () -> Bool
        /// The node that asks; `nil` once it has given up.
        var asker: CheckedContinuation<[UInt8]?, Never>?
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
        /// By paused node.
        var waiting: [String: [Waiting]] = [:]
        /// Those that wait for the next request.
        var watchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func node(_ name: String) -> Node { Node(channel: self, name: name) }

    /// Each of the next requests meets one fault.
    package func fail(_ faults: Fault...) { state.withLock { $0.faults += faults } }

    /// No announcement of a node reaches the others any more.
    package func silence(_ name: String) { state.withLock { _ = $0.silent.insert(name) } }

    /// Requests to a node wait from now on.
    package func pause(_ name: String) { state.withLock { $0.waiting[name] = $0.waiting[name] ?? [] } }

    /// The requests that wait for a paused node.
    package func waitingRequests(for name: String) -> [[UInt8]] {
        state.withLock { $0.waiting[name]?.map(\.request) ?? [] }
    }

    /// Returns when a request waits for a paused node.
    package func waitForRequest(to name: String) async { await wait { $0.waiting[name]?.isEmpty == false } }

    /// Returns when so many requests were made.
    package func waitForRequests(_ count: Int) async { await wait { $0.requests.count >= count } }

    private func wait(until condition: @Sendable (State) -> Bool) async {
        while !state.withLock({ condition($0) }) {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if condition(state) { return true }
                    state.watchers.append(continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        }
    }

    private func notify() {
        let watchers = state.withLock { state in
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in watchers { watcher.resume() }
    }

    /// Ends the requests that their askers call hopeless; paused nodes get them all the same.
    package func sweep() {
        let ended = state.withLock { state -> [CheckedContinuation<[UInt8]?, Never>] in
            var ended: [CheckedContinuation<[UInt8]?, Never>] = []
            for (name, requests) in state.waiting {
                for (index, request) in requests.enumerated() where request.asker != nil && request.isHopeless() {
                    if let asker = state.waiting[name]?[index].asker.take() { ended.append(asker) }
                }
            }
            return ended
        }
        for asker in ended { asker.resume(returning: nil) }
    }

    /// Lets a paused node answer what has waited.
    ///
    /// - Returns: Its answers, in order.
    package func resume(_ name: String) async -> [[UInt8]] {
        let (waiting, answer) = state.withLock { state in
            (state.waiting.removeValue(forKey: name) ?? [], state.answers[name])
        }
        var answers: [[UInt8]] = []
        for request in waiting {
            let bytes = await answer?(request.request)
            request.asker?.resume(returning: bytes)
            if let bytes { answers.append(bytes) }
        }
        return answers
    }

    private func hold(
        _ request: [UInt8],
        for name: String,
        unless isHopeless: @escaping @Sendable () -> Bool
    ) async -> [UInt8]? {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                state.waiting[name]?.append(
                    Waiting(request: request, isHopeless: isHopeless, asker: continuation)
                ) != nil
            }
            if isHeld { notify() } else { continuation.resume(returning: nil) }
        }
    }

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
            timeout: Duration,
            unless isHopeless: @escaping @Sendable () -> Bool
        ) async throws(NodeChannelError) -> [UInt8] {
            let (answer, fault, isPaused) = channel.state.withLock { state in
                state.requests.append(node)
                let fault = state.faults.isEmpty ? nil : state.faults.removeFirst()
                return (state.answers[node], fault, state.waiting[node] != nil)
            }
            channel.notify()
            if case .lost(let error) = fault { throw error }
            if isPaused {
                guard let bytes = await channel.hold(request, for: node, unless: isHopeless) else { throw .timeout }
                return bytes
            }
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
