import FairShares
import HubProtocol
import HubRouting
import Settings

/// Limits how often one rule may change installations and registrations from one address.
package struct WriteLimit: Sendable, Equatable {
    /// Maximum number of changes per second, in the long run.
    package var perSecond = HubSettings.listenWrites.fallback
    /// Size of a burst in seconds of the long-run rate: 10,000 agents that return through one proxy within a minute use
    /// half of it.
    static let burstSeconds = 100

    package init() {}
}

/// Limits the changes of each rule and address, except for keys with Manage.
final class WriteQuota: Sendable {
    private let limit: WriteLimit
    private let writes: RateLimiter<QuotaKey>

    init(_ limit: WriteLimit, clock: @escaping @Sendable () -> Duration) {
        self.limit = limit
        let rate = RateLimit(burst: limit.perSecond * WriteLimit.burstSeconds, perSecond: Double(limit.perSecond))
        writes = RateLimiter(rate, clock: clock)
    }

    /// Counts one change.
    ///
    /// - Throws: 429 with the time to wait.
    func admit(_ grant: Grant, _ key: QuotaKey) throws(ProtocolError) {
        guard !grant.mayManage, let wait = writes.admit(key) else { return }
        throw .tooManyRequests(
            "This address changes installations and registrations with the rule '\(key.rule)' too often: more than "
                + "\(limit.perSecond) a second ('listen-writes').",
            wait: wait
        )
    }
}
