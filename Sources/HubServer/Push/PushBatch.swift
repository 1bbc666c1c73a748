import HubProtocol
import HubRouting
import HubStore

/// Outcomes to record together.
struct PushBatch: Sendable {
    var progress: [DeliveryKey: DeliveryProgress] = [:]
    var handles: [HandleChange] = []
    /// All targets in the batch.
    var targets: [DeliveryLane.TargetKey] = []
    /// True if some targets were given back.
    var hasReturned = false

    var isEmpty: Bool { targets.isEmpty }

    mutating func succeed(_ landing: PushLanding) {
        progress[landing.key, default: DeliveryProgress()].done[landing.ordinal] = .success
        if let key = landing.collapseKey { progress[landing.key]?.collapsed[landing.ordinal] = key }
    }

    mutating func fail(
        _ landing: PushLanding,
        _ outcome: OutcomeName,
        _ reason: String,
        deadHandle: String? = nil
    ) {
        progress[landing.key, default: DeliveryProgress()].done[landing.ordinal] = outcome
        progress[landing.key]?.failures.append(
            DeliveryFailure(
                ordinal: landing.ordinal,
                outcome: outcome,
                reason: String(reason.prefix(300)),
                deadHandle: deadHandle
            )
        )
    }

    mutating func retry(
        _ landing: PushLanding,
        attempts: Int,
        dueAt: Timestamp,
        awaiting host: String? = nil,
        _ reason: String
    ) {
        progress[landing.key, default: DeliveryProgress()].retries.append(
            DeliveryRetry(
                key: landing.key,
                ordinal: landing.ordinal,
                attempts: attempts,
                dueAt: dueAt,
                reason: String(reason.prefix(300)),
                collapseKey: landing.collapseKey,
                host: host
            )
        )
    }

    mutating func remove(_ landing: PushLanding, since: Timestamp?) {
        guard let channel = landing.channel else { return }
        handles.append(
            HandleChange(
                platform: landing.key.platform,
                channel: channel,
                kind: .dead(since: since ?? landing.startedAt)
            )
        )
    }

    mutating func replace(_ landing: PushLanding, by new: String) {
        guard let channel = landing.channel else { return }
        handles.append(HandleChange(platform: landing.key.platform, channel: channel, kind: .replaced(by: new)))
    }
}
