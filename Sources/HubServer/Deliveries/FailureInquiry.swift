import HubProtocol
import HubRouting
import HubStore

/// Lists the targets of push services that were not sent a message.
///
/// Of one message and platform as many are known as ``Transaction/maximumFailures``.
struct FailureInquiry {
    /// Where a page begins.
    private struct Place {
        let platform: String
        let ordinal: Ordinal

        var text: String { "\(platform).\(ordinal)" }

        init(platform: String, ordinal: Ordinal) {
            self.platform = platform
            self.ordinal = ordinal
        }

        init(_ text: String) throws(ProtocolError) {
            let parts = text.split(separator: ".")
            guard parts.count == 2, let number = Int64(parts[1]) else {
                throw .badRequest("'from' must be what 'next' of the page before says.")
            }
            self.init(platform: String(parts[0]), ordinal: Ordinal(rawValue: number))
        }
    }

    let hub: Hub

    /// A page of failed targets, by platform and in the order of their registration.
    ///
    /// - Throws: 404 when the hub does not hold the message.
    func page(_ id: MessageID, from: String?, limit: Int) async throws -> FailedTargets {
        guard let message = try await hub.store.message(hub: hub.record.id, id: id, through: hub.status.head) else {
            throw ProtocolError.notFound("There is no message '\(id)' here.")
        }
        let start = try from.map { try Place($0) }
        let handles = try message.logged.record.targets?.handles ?? []
        var targets: [FailedTargets.Target] = []
        for state in try await hub.store.deliveryStates(of: message.logged.sequence) {
            let delivery = state.delivery
            let platform = delivery.key.platform
            if let start, platform < start.platform { continue }
            let after = start?.platform == platform ? start?.ordinal : nil
            let failures = try await hub.store.deliveryFailures(
                of: delivery.key,
                after: after ?? Ordinal(rawValue: -1),
                limit: limit - targets.count
            )
            for failure in failures {
                var target = FailedTargets.Target(
                    platform: Platform(rawValue: platform),
                    outcome: failure.outcome,
                    reason: failure.reason
                )
                if delivery.isDirect {
                    let place = Int(failure.ordinal.rawValue)
                    if handles.indices.contains(place) { target.handle = handles[place].handle }
                } else if let stored = try await hub.store.registrations(ordinals: [failure.ordinal]).first {
                    target.registration = stored.registration.id
                    target.installation = stored.installation?.id
                    target.handle = stored.registration.pushChannel.handle
                }
                targets.append(target)
            }
            if targets.count == limit {
                let last = Place(platform: platform, ordinal: failures.last?.ordinal ?? after ?? 0)
                return FailedTargets(targets: targets, next: last.text)
            }
        }
        return FailedTargets(targets: targets, next: nil)
    }
}
