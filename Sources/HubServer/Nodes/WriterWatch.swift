import HubStore
import ServiceLifecycle
import Synchronization

/// Determines the node that writes: the one that has written the newest entry, as long as it sends heartbeats.
///
/// The log decides which node was first, so a wrong result costs additional attempts, but no correctness.
final class WriterWatch: Service {
    /// Time between two looks at the newest entry.
    static let interval = Duration.milliseconds(100)
    /// Number of looks between two heartbeats of the node that writes.
    static let looksPerHeartbeat = 5
    /// Time without a heartbeat after which other nodes begin to write.
    static let patience = Duration.seconds(2)

    private struct State {
        var heartbeat: (head: LogHead, at: Duration)?
        var wasWriter = false
        var looks = 0
    }

    private let node: String
    private let store: HubStore
    private let writer: HubWriter
    private let channel: any NodeChannel
    private let clock: @Sendable () -> Duration
    private let state = Mutex(State())

    /// Watches for the node with the name `node`; `clock` never jumps.
    init(
        node: String,
        store: HubStore,
        writer: HubWriter,
        channel: any NodeChannel,
        clock: @escaping @Sendable () -> Duration
    ) {
        self.node = node
        self.store = store
        self.writer = writer
        self.channel = channel
        self.clock = clock
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { self.look() } while (try? await Task.sleep(for: Self.interval)) != nil
        }
    }

    /// The other node that writes; `nil` if this node should write.
    var otherWriter: String? {
        guard let heartbeat = state.withLock({ $0.heartbeat }), clock() - heartbeat.at < Self.patience else {
            return nil
        }
        let head = store.head
        // This node may be behind, and after a start it does not know who wrote its newest entry.
        let newest = head.number < heartbeat.head.number ? heartbeat.head.node : head.node ?? heartbeat.head.node
        return newest == node ? nil : newest
    }

    /// Announces that this node writes, if it does and a heartbeat is due.
    private func look() {
        let isWriter = store.head.node == node && writer.health.failureReason == nil
        let isDue = state.withLock { state in
            state.looks = isWriter == state.wasWriter ? (state.looks + 1) % Self.looksPerHeartbeat : 0
            state.wasWriter = isWriter
            return isWriter && state.looks == 0
        }
        if isDue { announce() }
    }

    func announce() {
        var bytes = EntryWriter()
        bytes.append(NodeMessages.Kind.heartbeat)
        bytes.append(number: store.head.number)
        bytes.append(text: node)
        channel.announce(bytes.bytes)
    }

    /// Notes the heartbeat of another node.
    func note(_ heartbeat: ArraySlice<UInt8>) {
        var reader = EntryReader(Array(heartbeat))
        guard let number = try? reader.number(), let name = try? reader.text() else { return }
        let now = clock()
        state.withLock { state in
            // A late heartbeat of a former writer is outdated.
            if let known = state.heartbeat, known.head.number > number, now - known.at < Self.patience { return }
            state.heartbeat = (LogHead(number: number, node: name), now)
        }
    }
}
