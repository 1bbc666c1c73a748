internal import FoundationEssentials
internal import WebEdge

/// A subscription at a feed's hub, from its request to its end.
///
/// ``PublisherStore`` reads, changes and writes it in one transaction, because hubs confirm and deliver at any time,
/// even before they have answered the request.
///
/// Source: WebSub §5.
struct WebSubSubscription: Sendable, Equatable {
    enum State: String, Sendable {
        /// Not confirmed: the request is to be sent, or its confirmation is awaited.
        case pending
        /// Confirmed, until its lease ends.
        case active
        /// The hub refuses it.
        case denied
        /// No longer wanted; the hub is asked to end it.
        case leaving
    }

    /// The requested lease; hubs may grant another one.
    static let wantedLease: Duration = .seconds(10 * 86_400)
    /// Longest lease that is used; a longer one is renewed as if it were this long, because hubs forget subscriptions.
    static let maximumLease: Duration = .seconds(30 * 86_400)
    /// The lease if the hub does not name one.
    static let standardLease: Duration = .seconds(86_400)
    /// Shortest pause between two requests, however short the lease.
    static let minimumPause: Duration = .seconds(300)
    static let maximumPause: Duration = .seconds(86_400)
    /// Age of a subscription before another topic or hub of the feed replaces it.
    static let minimumAge: Duration = .seconds(3_600)
    /// Maximum number of requests to end a subscription.
    static let farewells = 3
    /// Shortest polling interval for a feed whose hub delivers: hubs fail silently (feeds.md §10).
    static let pollingInterval: Duration = .seconds(3_600)

    let id: Int64
    /// ``FeedRecord/id``.
    let feed: Int64
    let hub: String
    let topic: String
    /// The whole address that the hub calls; only the hub and this publisher know its last part.
    let callback: String
    /// The secret; `nil` for a hub without TLS, whose deliveries prove nothing and are treated as pings.
    let secret: String?
    let created: Date

    var state = State.pending
    /// The time of the next request to the hub.
    var due: Date
    /// Number of requests since the last confirmation.
    var failures = 0
    var leaseEnd: Date?
    /// The time of the last proven delivery.
    var lastDelivery: Date?
    /// The time when a poll found entries that the hub had not delivered; cleared by the next delivery.
    var missedSince: Date?
    /// The reason why it is not active, as the hub or the network gave it.
    var reason: String?
    /// Number of proven deliveries.
    var deliveries = 0
    /// Number of discarded deliveries without proof.
    var discarded = 0

    /// True if the hub can be relied on for new entries.
    func isReliable(at now: Date) -> Bool {
        guard state == .active, let leaseEnd, lastDelivery != nil, missedSince == nil else { return false }
        return leaseEnd > now
    }

    /// True if deliveries are accepted; some hubs deliver while they confirm, or shortly after the lease.
    var takesDeliveries: Bool { state == .active || state == .pending }

    /// True if another offer of its feed replaces it; not at once, because some feeds name another topic at each
    /// request.
    func yields(to offer: PushOffer?, base: String, now: Date) -> Bool {
        guard let offer, callback.hasPrefix(base) else { return true }
        if offer == PushOffer(hub: hub, topic: topic) { return false }
        return abs(now.timeIntervalSince(created)) >= Self.minimumAge.inSeconds
    }

    /// True if the subscription is no longer wanted and no further attempt to end it is made.
    func hasEnded(at now: Date) -> Bool {
        state == .leaving && due <= now && (failures >= Self.farewells || leaseEnd.map { $0 <= now } ?? true)
    }

    /// The form of the request that is due.
    var request: FormFields {
        var pairs = [
            (name: "hub.mode", value: state == .leaving ? "unsubscribe" : "subscribe"),
            (name: "hub.topic", value: topic), (name: "hub.callback", value: callback),
        ]
        if state != .leaving {
            pairs.append((name: "hub.lease_seconds", value: "\(Self.wantedLease.components.seconds)"))
        }
        if let secret, state != .leaving { pairs.append((name: "hub.secret", value: secret)) }
        return FormFields(pairs)
    }

    /// True if a hub's request names our topic, even if the hub did not escape a `+` in it.
    func isAbout(_ question: FormFields) -> Bool {
        question["hub.topic"]?.replacing("+", with: " ") == topic.replacing("+", with: " ")
    }

    // MARK: Changes

    /// Records a request to the hub, and when to repeat it unless the hub confirms.
    mutating func ask(now: Date, random: UInt64) {
        failures += 1
        let pause = min(Self.minimumPause * (1 << min(failures - 1, 9)), Self.maximumPause)
        due = now.addingTimeInterval(pause.inSeconds * (0.8 + 0.4 * random.fraction))
        if state == .denied { state = .pending }
    }

    /// Records that the request was refused, or did not reach the hub.
    mutating func fail(_ reason: String, retryAfter: Duration?, now: Date) {
        self.reason = reason
        if let retryAfter {
            due = max(due, now.addingTimeInterval(min(retryAfter, PollSchedule.maximumRetryAfter).inSeconds))
        }
    }

    /// Confirms a request that the hub verifies, if it is ours.
    ///
    /// A hub may verify again on its own while the subscription is active. The lease is renewed at a random moment
    /// between half and nine tenths of it.
    mutating func confirms(_ question: FormFields, now: Date, random: UInt64) -> Bool {
        guard isAbout(question) else { return false }
        switch question["hub.mode"] {
        case "subscribe" where state == .active || (state == .pending && failures > 0):
            let granted = question["hub.lease_seconds"].flatMap { Int64($0) }.map { max(0, min($0, 1 << 32)) }
            let lease = min(granted.map { .seconds($0) } ?? Self.standardLease, Self.maximumLease)
            state = .active
            failures = 0
            reason = nil
            leaseEnd = now.addingTimeInterval(lease.inSeconds)
            let renewal = max(lease * (0.5 + 0.4 * random.fraction), Self.minimumPause)
            due = now.addingTimeInterval(renewal.inSeconds)
            return true
        case "unsubscribe":
            return state == .leaving && failures > 0
        default:
            return false
        }
    }

    /// Records that the hub refuses the subscription; it is asked again the next day.
    mutating func deny(_ reason: String?, now: Date) {
        guard state != .leaving else { return }
        state = .denied
        failures = 0
        leaseEnd = nil
        self.reason = reason ?? "the hub gives no reason"
        due = now.addingTimeInterval(Self.maximumPause.inSeconds)
    }

    /// Records that the lease has ended without a renewal.
    mutating func lapse(now: Date) {
        guard state == .active, let leaseEnd, leaseEnd <= now else { return }
        state = .pending
        reason = reason ?? "the hub did not renew it"
    }

    mutating func leave(now: Date) {
        guard state != .leaving else { return }
        state = .leaving
        failures = 0
        due = now
    }

    /// Records a proven delivery.
    mutating func delivered(now: Date) {
        deliveries += 1
        lastDelivery = now
        missedSince = nil
    }
}
