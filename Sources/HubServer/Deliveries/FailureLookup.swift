import HubProtocol
import HubRouting
import HubStore

/// Lists the targets on push services that were not sent a message.
///
/// The number of known failures of one message and platform is limited by ``Transaction/maximumFailures``.
struct FailureLookup {
    private static let linesAtOnce = 1_000
    /// Maximum number of pages of one report, which then names 100,000 targets.
    static let maximumPages = 100

    /// The place at which a page begins.
    struct Place: Sendable {
        let platform: Platform
        let ordinal: Ordinal

        fileprivate var text: String { "\(platform).\(ordinal)" }
    }

    /// A failed target of one platform.
    private struct Entry {
        let place: Place
        let target: FailedTarget
    }

    let hub: Hub

    /// A page of failed targets, ordered by platform and registration ordinal.
    ///
    /// - Throws: 404 if the hub does not hold the message.
    func page(_ id: MessageID, from: String?, limit: Int) async throws -> FailedTargets {
        let message = try await message(id)
        let entries = try await entries(of: message, after: try from.map { try Place($0) }, limit: limit)
        let targets = entries.map { entry in
            var target = FailedTargets.Target(
                platform: entry.place.platform,
                outcome: entry.target.failure.outcome,
                reason: entry.target.failure.reason
            )
            target.registration = entry.target.registration
            target.installation = entry.target.installation
            target.handle = entry.target.handle
            return target
        }
        return FailedTargets(targets: targets, next: entries.count == limit ? entries.last?.place.text : nil)
    }

    /// A page of failed targets in the service's own format, one on each line.
    ///
    /// - Returns: The lines, and the place at which the next page begins, which is `nil` on the last page.
    func lines(_ message: AcceptedMessage, from place: Place?) async throws -> (text: String, next: Place?) {
        let id = try message.logged.id
        let entries = try await entries(of: message, after: place, limit: Self.linesAtOnce)
        let text = entries.map { PnsFeedback($0.target, on: $0.place.platform, of: id).line }.joined()
        return (text, entries.count == Self.linesAtOnce ? entries.last?.place : nil)
    }

    /// - Throws: 404 if the hub does not hold the message.
    func message(_ id: MessageID) async throws -> AcceptedMessage {
        guard let message = try await hub.store.message(hub: hub.record.id, id: id, through: hub.status.head) else {
            throw ProtocolError.notFound("There is no message '\(id)' here.")
        }
        return message
    }

    private func entries(of message: AcceptedMessage, after place: Place?, limit: Int) async throws -> [Entry] {
        let handles = try message.logged.record.targets?.handles ?? []
        var entries: [Entry] = []
        for delivery in try await hub.store.deliveries(of: message.logged.sequence) where entries.count < limit {
            let platform = delivery.key.platform
            if let place, platform < place.platform { continue }
            let after = place?.platform == platform ? place?.ordinal : nil
            let failed = try await hub.store.failedTargets(
                of: delivery.key,
                after: after ?? Ordinal(rawValue: -1),
                limit: limit - entries.count
            )
            for var target in failed {
                let position = Int(target.failure.ordinal.rawValue)
                if delivery.isDirect, handles.indices.contains(position) { target.handle = handles[position].handle }
                entries.append(
                    Entry(place: Place(platform: platform, ordinal: target.failure.ordinal), target: target)
                )
            }
        }
        return entries
    }
}

extension FailureLookup.Place {
    fileprivate init(_ text: String) throws(ProtocolError) {
        let parts = text.split(separator: ".")
        guard parts.count == 2, let number = Int64(parts[1]) else {
            throw .badRequest("'from' must be the value of 'next' in the previous page.")
        }
        self.init(platform: Platform(rawValue: String(parts[0])), ordinal: Ordinal(rawValue: number))
    }
}
