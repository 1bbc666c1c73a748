internal import Synchronization

/// A host that asked for quiet; all feeds there wait (feeds.md §10).
package struct HostWait: Sendable, Equatable {
    package var host: String
    package var due: DueTime
}

/// Hosts that asked for quiet while a pass runs, seen by all its tasks.
final class QuietHosts: Sendable {
    private let hosts = Mutex<Set<String>>([])

    func insert(_ host: String) { hosts.withLock { _ = $0.insert(host) } }

    func contains(_ host: String) -> Bool { hosts.withLock { $0.contains(host) } }
}
