import FairShares
import HubProtocol
import HubRouting
import Settings
import Synchronization

/// Limits the number of streams and polls that one rule may have from one address.
package struct StreamLimit: Sendable, Equatable {
    /// Maximum number open at the same time; as many may be opened at once.
    package var open = HubSettings.streamsPerAddress.fallback
    /// Maximum number opened per second, in the long run.
    package var openingsPerSecond = HubSettings.streamOpenings.fallback

    package init() {}
}

/// Limits the streams and polls of each rule and address, except for keys with Manage.
final class StreamQuota: Sendable {
    /// Time to wait for a client with too many open streams, of which only some end on their own.
    private static let wait = Duration.seconds(60)

    private let limit: StreamLimit
    private let openings: RateLimiter<QuotaKey>
    private let open = Mutex<[QuotaKey: Int]>([:])

    init(_ limit: StreamLimit, clock: @escaping @Sendable () -> Duration) {
        self.limit = limit
        openings = RateLimiter(
            RateLimit(burst: limit.open, perSecond: Double(limit.openingsPerSecond)),
            clock: clock
        )
    }

    /// Counts a stream as open for as long as its place exists.
    ///
    /// - Returns: `nil` for a grant that no quota applies to.
    /// - Throws: 429 with the time to wait.
    func place(for grant: Grant, _ key: QuotaKey) throws(ProtocolError) -> StreamPlace? {
        guard !grant.mayManage else { return nil }
        let isFree = open.withLock { open in
            guard open[key, default: 0] < limit.open else { return false }
            open[key, default: 0] += 1
            return true
        }
        guard isFree else {
            throw .tooManyRequests(
                "This address has \(limit.open) streams open with the rule '\(key.rule)', which is the maximum "
                    + "('streams-per-address').",
                wait: Self.wait
            )
        }
        let place = StreamPlace { [weak self] in self?.leave(key) }
        if let wait = openings.admit(key) {
            throw .tooManyRequests(
                "This address opens streams with the rule '\(key.rule)' too often: more than "
                    + "\(limit.openingsPerSecond) a second ('stream-openings').",
                wait: wait
            )
        }
        return place
    }

    /// Number of streams that are counted as open.
    var count: Int { open.withLock { $0.values.reduce(0, +) } }

    private func leave(_ key: QuotaKey) {
        open.withLock { open in
            guard let count = open[key] else { return }
            open[key] = count > 1 ? count - 1 : nil
        }
    }
}

/// The place of one open stream in its quota, released when it is deinitialized.
final class StreamPlace: Sendable {
    private let leave: @Sendable () -> Void

    fileprivate init(leave: @escaping @Sendable () -> Void) { self.leave = leave }

    deinit { leave() }
}
