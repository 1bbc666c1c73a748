package import FoundationEssentials

/// The state of a feed's hub, for people.
package struct PushHealth: Sendable, Encodable {
    package enum State: String, Sendable, CaseIterable, Encodable {
        /// The hub confirmed, and delivers.
        case active
        /// The hub confirmed, but has delivered nothing yet, or not everything.
        case unproven
        /// The hub was asked to subscribe, or will be.
        case pending
        /// The hub refuses the subscription.
        case denied
    }

    /// The hub's host.
    package let hub: String
    package let state: State
    package let leaseEnd: Date?
    package let lastDelivery: Date?
    /// Number of deliveries that were accepted.
    package let deliveries: Int
    /// Number of discarded deliveries, without a valid signature.
    package let discarded: Int
    /// The reason why it is not active.
    package let reason: String?

    init?(_ subscription: WebSubSubscription, at now: Date) {
        switch subscription.state {
        case .active: state = subscription.isReliable(at: now) ? .active : .unproven
        case .pending: state = .pending
        case .denied: state = .denied
        case .leaving: return nil
        }
        hub = subscription.hubName
        leaseEnd = subscription.leaseEnd
        lastDelivery = subscription.lastDelivery
        deliveries = subscription.deliveries
        discarded = subscription.discarded
        reason = subscription.missedSince == nil ? subscription.reason : "it did not deliver everything"
    }
}

extension PublisherStore {
    /// Returns the states of all hubs, by the addresses of the feeds.
    func pushHealth(at now: Date) throws -> [String: PushHealth] {
        var health: [String: PushHealth] = [:]
        for subscribed in try subscriptions() {
            guard let push = PushHealth(subscribed.subscription, at: now) else { continue }
            health[subscribed.url] = push
        }
        return health
    }
}
