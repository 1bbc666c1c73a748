import HubProtocol
import HubRouting
import HubStore
import PushServices

// MARK: - Expiry

extension DeliveryLane {
    /// Pages of ``maximumReading`` messages whose expiries are read at once.
    private static let expiryPages = 16

    /// Ends messages that have expired and have nothing in flight, once a second.
    ///
    /// - Returns: True if there are more.
    func endExpired(at now: Timestamp) async throws -> Bool {
        guard now >= nextExpiryLook || nextExpiryLook > now + Self.longestRest else { return false }
        let page = try await openDeliveries()
        let old = page.prefix { $0.acceptedAt.map { now >= $0 + hub.configuration.timeToLive } ?? false }
        let ended = try await endIdle(old.map(\.key))
        try await noteLaterExpiries()
        let endedEarly = try await endIdle(try await expired(at: now))
        let hasMore = max(ended, endedEarly) == Self.maximumReading
        nextExpiryLook = hasMore ? now : now + .seconds(1)
        return hasMore
    }

    /// Returns messages that have expired before the hub's time to live ends, and still have targets.
    private func expired(at now: Timestamp) async throws -> [DeliveryKey] {
        var open: [DeliveryKey] = []
        for key in expiries.expired(at: now, atMost: Self.maximumReading) {
            // A later message can have replaced this one; to end it again would cost two commits.
            if try await hub.store.openDelivery(key) == nil {
                expiries.forget([key])
            } else {
                open.append(key)
            }
        }
        return open
    }

    /// Ends expired messages that have nothing in flight.
    ///
    /// - Returns: Number of messages that it ended.
    private func endIdle(_ keys: [DeliveryKey]) async throws -> Int {
        let idle = keys.filter { courses[$0].map { $0.outstanding == 0 } ?? true }
        for key in idle {
            try await end(key, as: circuit.reason == nil ? .abandoned : .invalidCredentials)
            courses[key] = nil
            slowHosts.forget(key)
        }
        expiries.forget(idle)
        return idle.count
    }

    /// Ends a message: all targets that are left get the same outcome.
    func end(_ key: DeliveryKey, as outcome: OutcomeName) async throws {
        // After an outage there may be a million, and others wait for the writer.
        var hasRetries = true
        while hasRetries {
            hasRetries = try await perform { transaction in
                (try transaction.dropRetries(of: key) == Transaction.maximumDroppedTargets, [])
            }
        }
        let at = wallTime
        let count = try await perform { transaction in
            (try transaction.end(key, as: outcome, at: at), [])
        }
        var counts: [PushCounters.Outcome: Int] = [:]
        counts.add(count, outcome, platform)
        hub.counters.push.add(counts)
    }

    /// Notes the expiry of a message that is earlier than the hub's time to live.
    ///
    /// A message for templates has none: each template can set its own.
    func noteExpiry(of key: DeliveryKey, _ rendering: inout PushRendering) {
        guard let service, let end = rendering.commonExpiry(on: platform, by: service),
            end < rendering.acceptedAt + hub.configuration.timeToLive
        else { return }
        expiries.note(key, expiresAt: end)
    }

    /// Notes the expiries of messages whose turn has not come, because the lane is reading as many as it can.
    private func noteLaterExpiries() async throws {
        guard service != nil, hasNews, reading.count >= Self.maximumReading else { return }
        expiriesReadThrough = max(expiriesReadThrough, openedThrough)
        for _ in 0..<Self.expiryPages where !expiries.isFull {
            let page = try await openDeliveries(after: expiriesReadThrough)
            for delivery in page {
                if let accepted = try await hub.store.acceptedMessage(sequence: delivery.key.sequence),
                    var rendering = try? PushRendering(accepted)
                {
                    noteExpiry(of: delivery.key, &rendering)
                }
                expiriesReadThrough = delivery.key.sequence
            }
            guard page.count == Self.maximumReading else { return }
        }
    }
}
