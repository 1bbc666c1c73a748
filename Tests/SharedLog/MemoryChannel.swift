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

    private struct State {
        var listeners: [String: AsyncStream<[UInt8]>.Continuation] = [:]
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

    /// True if a node answers requests.
    package func isServing(_ name: String) -> Bool { state.withLock { $0.answers[name] != nil } }

    /// The channel as one node has it.
    package struct Node: NodeChannel {
        fileprivate let channel: MemoryChannel
        fileprivate let name: String

        package func announce(_ announcement: [UInt8]) {
            let others = channel.state.withLock { state in
                state.silent.contains(name) ? [] : Array(state.listeners.filter { $0.key != name }.values)
            }
            for other in others { other.yield(announcement) }
        }

        package func announcements() -> AsyncStream<[UInt8]> {
            let (stream, continuation) = AsyncStream<[UInt8]>.makeStream(bufferingPolicy: .bufferingNewest(1_024))
            channel.state.withLock { $0.listeners[name] = continuation }
            return stream
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
