import HubProtocol
import HubRouting
import HubStore

/// The messages of a hub that wait for their time.
struct ScheduledMessages {
    /// Messages of one hub that may wait for their time.
    static let maximum = 100_000
    /// Bytes that they may take in the file.
    static let maximumBytes = 256 << 20
    /// Messages that one commit releases, so that senders wait little.
    static let releasedAtOnce = 64

    let hub: Hub

    /// - Throws: 403 when too much waits already.
    static func checkRoom(for bytes: Int, _ load: ScheduledLoad) throws(ProtocolError) {
        guard load.messages < maximum, load.bytes + bytes <= maximumBytes else {
            throw .quotaExceeded(
                """
                \(load.messages) scheduled messages of \(load.bytes >> 20) MiB wait already, and a hub keeps \
                \(maximum) and \(maximumBytes >> 20) MiB: cancel some, or send this one later.
                """
            )
        }
    }

    /// Takes a scheduled message back; one that was taken back before stays so.
    ///
    /// - Throws: 404 for a message that is not known, 409 for one that was sent.
    func cancel(_ id: MessageID) async throws {
        let hub = hub.record.id
        let at = self.hub.configuration.timestamp
        try await self.hub.perform { transaction, _ in
            guard let message = try transaction.scheduledMessage(hub: hub, id: id) else {
                guard let sent = try transaction.sentMessage(hub: hub, id: id) else {
                    throw ProtocolError.notFound("There is no scheduled message '\(id)' here.")
                }
                let time = sent.wholeSecond
                throw ProtocolError.conflict("The message '\(id)' was sent at \(time) and cannot be taken back.")
            }
            guard message.canceledAt == nil else { return ((), []) }
            try transaction.cancel(message, hub: hub, at: at)
            return ((), [.unscheduled([message], nextDue: try transaction.nextDue(hub: hub))])
        }
    }

    /// Releases messages whose time has come by a clock that can be trusted: each takes its place in the log now, and keeps
    /// its id.
    ///
    /// - Returns: True if there may be more.
    /// - Throws: 503 when the hub cannot write, 404 when it was deleted.
    func releaseDue(at now: Timestamp) async throws -> Bool {
        let releases = try await hub.perform { transaction, view in
            let due = try transaction.dueMessages(hub: hub.record.id, at: now, limit: Self.releasedAtOnce)
            var releases: [Release] = []
            for message in due { releases.append(try release(message, at: now, transaction, view)) }
            let nextDue = try transaction.nextDue(hub: hub.record.id)
            let effects = releases.flatMap { [$0.effect] + $0.deliveries.effects }
            return (releases, [.unscheduled(due, nextDue: nextDue)] + effects)
        }
        for release in releases {
            hub.counters.push.add(release.deliveries.outcomes)
            switch release.effect {
            case .message(_, let matched): hub.counters.accept(matched.counts)
            case .unreadable(let sequence): release.failure.map { hub.noteUnreadable(sequence, $0) }
            default: break
            }
        }
        return releases.count == Self.releasedAtOnce
    }

    private struct Release: Sendable {
        let effect: HubEffect
        var deliveries = MessageIntake.Deliveries()
        /// Why the message cannot be read.
        var failure: (any Error)?
    }

    /// Gives a message its place in the log; one that cannot be read has it all the same, so that streams are sent a gap.
    private func release(
        _ scheduled: ScheduledMessage,
        at: Timestamp,
        _ transaction: Transaction,
        _ view: borrowing HubView
    ) throws -> Release {
        let record = scheduled.record
        var matched: Matched?
        if let message = try? record.message, let targets = Result(catching: { try record.targets }).value {
            matched = try hub.messages.matched(by: message, targets, transaction, view)
        }
        let sequence = try transaction.appendMessage(
            record,
            hub: hub.record.id,
            at: at,
            enqueuedAt: scheduled.scheduledAt,
            matched: matched?.counts
        )
        try transaction.forgetScheduled(scheduled)
        var deliveries = MessageIntake.Deliveries()
        if let message = try? record.message, let targets = Result(catching: { try record.targets }).value {
            deliveries = try hub.messages.insertDeliveries(of: message, targets, sequence, at: at, transaction, view)
        }
        do {
            let routed = try LoggedMessage(sequence: sequence, record: record).routed
            return Release(effect: .message(routed, matched: matched ?? .nobody), deliveries: deliveries)
        } catch {
            return Release(effect: .unreadable(sequence), failure: error)
        }
    }
}

extension Result {
    fileprivate var value: Success? { try? get() }
}

extension HubEffect {
    /// Messages wait no longer; `nextDue` is that of the next one that does.
    fileprivate static func unscheduled(_ gone: [ScheduledMessage], nextDue: Timestamp?) -> HubEffect {
        .unscheduled(messages: gone.count, bytes: gone.reduce(0) { $0 + $1.record.bytes }, nextDue: nextDue)
    }
}
