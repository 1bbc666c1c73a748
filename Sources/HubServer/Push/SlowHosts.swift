import HubProtocol
import HubRouting
import HubStore

/// Hosts that answer too slowly for the messages to them, and the targets that wait for them.
///
/// Targets wait in memory until their host has room, while targets of other hosts are sent. A crash loses none of them:
/// the store has them as never tried.
struct SlowHosts: Sendable {
    /// Targets that wait in memory; further ones wait in the store, as retries do.
    static let maximumWaiting = 100_000
    /// Messages with targets that wait in memory; each takes memory for its texts.
    static let maximumMessages = 64
    /// Time that a host counts as slow after the hub waited for it without success.
    static let memory = Duration.seconds(10)
    /// Longest wait of a target that waits in the store.
    static let longestPause = Duration.seconds(30)

    private struct SlowHost {
        var noticedAt = Timestamp.distantPast
        var waiting: [DeliveryLane.TargetKey] = []
    }

    private var hosts: [String: SlowHost] = [:]
    /// Number of waiting targets by message.
    private var messages: [DeliveryKey: Int] = [:]
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// Hosts with targets that wait for them.
    var names: [String] { hosts.filter { !$0.value.waiting.isEmpty }.keys.sorted() }

    func isSlow(_ host: String, at now: Timestamp) -> Bool {
        hosts[host].map { Self.isSlow($0, at: now) } ?? false
    }

    private static func isSlow(_ host: SlowHost, at now: Timestamp) -> Bool {
        // A time in the future means that the clock was set back.
        host.noticedAt <= now && now < host.noticedAt + memory
    }

    /// Notes that a host had no room for a target in the time that the hub waits.
    mutating func note(_ host: String, at now: Timestamp) {
        hosts = hosts.filter { !$0.value.waiting.isEmpty || Self.isSlow($0.value, at: now) }
        hosts[host, default: SlowHost()].noticedAt = now
    }

    /// Lets a target wait for its host.
    ///
    /// - Returns: False if too many targets wait already.
    mutating func add(_ target: DeliveryLane.TargetKey, _ host: String) -> Bool {
        guard count < Self.maximumWaiting,
            messages[target.key] != nil || messages.count < Self.maximumMessages
        else { return false }
        hosts[host, default: SlowHost()].waiting.append(target)
        messages[target.key, default: 0] += 1
        count += 1
        return true
    }

    /// Removes and returns the targets that have waited longest for a host.
    mutating func take(_ host: String, atMost limit: Int) -> [DeliveryLane.TargetKey] {
        guard let some = hosts[host]?.waiting.prefix(limit), !some.isEmpty else { return [] }
        let targets = Array(some)
        hosts[host]?.waiting.removeFirst(targets.count)
        for target in targets {
            let left = messages[target.key, default: 0] - 1
            messages[target.key] = left > 0 ? left : nil
        }
        count -= targets.count
        return targets
    }

    /// True if a message has waiting targets.
    func hasTargets(of key: DeliveryKey) -> Bool { messages[key] != nil }

    /// Forgets the targets of a message that has ended.
    mutating func forget(_ key: DeliveryKey) {
        guard let number = messages.removeValue(forKey: key) else { return }
        count -= number
        for host in hosts.keys { hosts[host]?.waiting.removeAll { $0.key == key } }
    }
}
