import HTTPTypes
import HubProtocol
import HubStore
import Synchronization

extension HubManagement {
    /// Shortest time between two refusals that are checked against what other nodes have written: anybody can cause
    /// refusals.
    static let recheckInterval = Duration.milliseconds(100)

    /// Admits a request with what other nodes had written before it came.
    ///
    /// A read sees all of it. A request that is refused may come with a key, or be for a hub, that another node has just
    /// made.
    func upToDate<Admitted>(
        for route: Route,
        _ admit: () throws(ProtocolError) -> Admitted
    ) async throws -> Admitted {
        guard store.incarnation != nil else { return try admit() }
        do throws(ProtocolError) {
            let admitted = try admit()
            guard route.method == .get, !route.isOfNode else { return admitted }
        } catch {
            guard mayRecheck() else { throw error }
        }
        try await writer.catchUp()
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
