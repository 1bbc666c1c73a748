internal import FoundationEssentials
internal import Synchronization

/// A host that asked for a pause; all of its feeds wait (feeds.md §10).
struct HostWait: Sendable, Equatable {
    /// As ``FeedSource/politenessHost(_:)`` names it.
    var host: String
    var due: DueTime
    /// The text after "'host' " in a line for people; `nil` for a wait that an earlier version stored.
    var reason: String?
}

/// Hosts that asked for a pause or did not reply while a pass runs, shared by its tasks.
final class QuietHosts: Sendable {
    private let hosts = Mutex<Set<String>>([])

    func insert(_ host: String) { hosts.withLock { _ = $0.insert(host) } }

    func contains(anyOf some: Set<String>) -> Bool { hosts.withLock { !$0.isDisjoint(with: some) } }
}

extension [String: HostWait] {
    /// Returns the longest wait of some hosts that has not ended.
    func latest(of hosts: Set<String>, at now: Date) -> HostWait? {
        hosts.compactMap { self[$0] }.filter { !$0.due.hasCome(at: now) }.max { $0.due.at < $1.due.at }
    }
}
