import HubProtocol
import HubStore

/// Messages that expire before the hub's time to live ends.
///
/// A message expires on time even if its turn has not come, its credential is refused or its service is paused.
struct MessageExpiries: Sendable {
    /// Number of messages to remember; further ones expire at their turn.
    static let maximum = 100_000

    private var ends: [DeliveryKey: Timestamp] = [:]
    /// The earliest expiry; `nil` if there is none.
    private(set) var next: Timestamp?

    var isFull: Bool { ends.count >= Self.maximum }

    func has(_ key: DeliveryKey) -> Bool { ends[key] != nil }

    mutating func note(_ key: DeliveryKey, expiresAt end: Timestamp) {
        guard !isFull || ends[key] != nil else { return }
        ends[key] = end
        next = next.map { min($0, end) } ?? end
    }

    /// Returns messages that have expired, the oldest first.
    func expired(at now: Timestamp, atMost limit: Int) -> [DeliveryKey] {
        guard let next, next <= now else { return [] }
        let expired = ends.filter { $0.value <= now }.keys
        return Array(expired.sorted { $0.sequence < $1.sequence }.prefix(limit))
    }

    /// Forgets messages that have ended.
    mutating func forget(_ keys: [DeliveryKey]) {
        var losesNext = false
        for key in keys {
            guard let end = ends.removeValue(forKey: key) else { continue }
            losesNext = losesNext || end == next
        }
        // Looks at all of them, and messages end many times a second.
        if losesNext { next = ends.values.min() }
    }
}
