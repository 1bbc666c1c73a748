import HTTPTypes
import HubProtocol
import HubStore
import Synchronization

extension HubManagement {
    /// Minimum time between two refusals that are checked against the log: anybody can cause refusals.
    static let recheckInterval = Duration.milliseconds(100)

    /// Admits a request; before a read or a refusal, this node catches up with the log.
    ///
    /// A read sees everything that other nodes wrote before it arrived. A refused request may use a key or a hub that
    /// another node has just created.
    func upToDate<Admitted>(
        isRead: Bool,
        _ admit: () throws(ProtocolError) -> Admitted
    ) async throws -> Admitted {
        guard store.incarnation != nil else { return try admit() }
        do throws(ProtocolError) {
            let admitted = try admit()
            guard isRead else { return admitted }
        } catch {
            guard mayRecheck() else { throw error }
        }
        try await served.writer.catchUp()
        return try admit()
    }

    private func mayRecheck() -> Bool {
        rechecked.withLock { rechecked in
            let now = configuration.monotonic()
            if let last = rechecked, now - last < Self.recheckInterval { return false }
            rechecked = now
            return true
        }
    }
}
