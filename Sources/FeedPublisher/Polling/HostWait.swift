internal import FoundationEssentials
internal import Synchronization

/// A host that asked for quiet; all feeds there wait (feeds.md §10).
struct HostWait: Sendable, Equatable {
    var host: String
    var due: DueTime
}

/// Hosts that asked for quiet or gave no answer while a pass runs, seen by all its tasks.
final class QuietHosts: Sendable {
    private let hosts = Mutex<Set<String>>([])

    func insert(_ host: String) { hosts.withLock { _ = $0.insert(host) } }

    func contains(anyOf some: Set<String>) -> Bool { hosts.withLock { !$0.isDisjoint(with: some) } }
}

extension [String: DueTime] {
    /// The wait of some hosts that lasts longest, of those that are not over.
    func latest(of hosts: Set<String>, at now: Date) -> DueTime? {
        hosts.compactMap { self[$0] }.filter { !$0.hasCome(at: now) }.max { $0.at < $1.at }
    }
}
