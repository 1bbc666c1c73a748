import HubProtocol
import HubStore
import Synchronization

/// The server's writer as one hub uses it: nothing is written for a hub that was deleted.
final class HubChanges: Sendable {
    private let writer: HubWriter
    private let hub: HubName
    private let closed = Atomic<Bool>(false)

    init(_ writer: HubWriter, hub: HubName) {
        self.writer = writer
        self.hub = hub
    }

    /// The hub is gone.
    var isClosed: Bool { closed.load(ordering: .acquiring) }

    /// Takes no more changes; called in the order of the log, when the hub has been deleted.
    func close() { closed.store(true, ordering: .releasing) }

    /// As ``HubWriter/perform(bytes:stage:apply:)``; 404 for a hub that was deleted.
    func perform<Output: Sendable>(
        bytes: Int,
        stage: @escaping @Sendable (Transaction) throws -> Output,
        apply: @escaping @Sendable (Output) -> Void
    ) async throws -> Output {
        try await writer.perform(bytes: bytes) { transaction in
            guard !self.isClosed else { throw ProtocolError.noHub(self.hub.text) }
            return try stage(transaction)
        } apply: { output in
            apply(output)
        }
    }

    /// Runs something in the order of the log that needs no transaction.
    func post(_ event: @escaping @Sendable () -> Void) { writer.post(event) }

    /// Runs something in the order of the log that needs no transaction, and returns when it has run.
    func inOrder(_ event: @escaping @Sendable () -> Void) async { await writer.inOrder(event) }

    /// What of any hub is not durable yet.
    var backlog: HubWriter.Backlog { writer.backlog }
}

extension ProtocolError {
    /// `name` is as the client wrote it.
    static func noHub(_ name: String) -> ProtocolError {
        .notFound("There is no hub named '\(String(name.prefix(HubName.maximumLength)).excerpt)' here.")
    }

    /// `pathSegment` is as it was sent.
    static func noHub(pathSegment: String) -> ProtocolError {
        .noHub(PercentEncoding.decode(pathSegment) ?? pathSegment)
    }
}
