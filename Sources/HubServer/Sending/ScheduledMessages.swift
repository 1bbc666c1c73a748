import HubProtocol
import HubRouting
import HubStore

/// The scheduled messages of a hub.
struct ScheduledMessages {
    /// Largest number of scheduled messages of one hub.
    static let maximum = 100_000
    /// Largest size of a hub's scheduled messages in the database, in bytes.
    static let maximumBytes = 256 << 20
    /// Messages that one commit releases; with more of them senders would wait for the commit.
    static let releasedAtOnce = 64

    let hub: Hub

    /// - Throws: 403 if there is no room for another message.
    static func checkRoom(for bytes: Int, _ load: ScheduledLoad) throws(ProtocolError) {
        guard load.messages < maximum, load.bytes <= maximumBytes - bytes else {
            throw .quotaExceeded(
                """
                The hub has \(load.messages) scheduled messages of \(load.bytes >> 20) MiB; the limits are \
                \(maximum) messages and \(maximumBytes >> 20) MiB. Cancel some, or send this one later.
                """
            )
        }
    }

    /// Cancels a scheduled message; cancelling it again changes nothing.
    ///
    /// - Throws: 404 if the hub does not know the message, 409 if the message was sent.
    func cancel(_ id: MessageID) async throws {
        let hub = hub.record.id
        let at = self.hub.configuration.timestamp
        try await self.hub.perform { transaction, _ in
            guard let message = try transaction.scheduledMessage(hub: hub, id: id) else {
                guard let sent = try transaction.sentMessage(hub: hub, id: id) else {
                    throw ProtocolError.notFound("The hub has no scheduled message '\(id)'.")
                }
                let time = sent.wholeSecond
                throw ProtocolError.conflict("The message '\(id)' was sent at \(time) and cannot be cancelled.")
            }
            guard message.canceledAt == nil else { return ((), []) }
            try transaction.cancel(message, hub: hub, at: at)
            return ((), [UnscheduledEffect([message], nextDue: try transaction.nextDue(hub: hub))])
        }
    }

    /// Releases messages that are due: each keeps its id and is appended to the log now.
    ///
    /// - Returns: True if there may be more.
    /// - Throws: 503 if the hub cannot write, 404 if the hub was deleted, ``LeaseLost``.
    func releaseDue(at now: Timestamp, in term: LeaseTerm) async throws -> Bool {
        let releases = try await hub.perform { transaction, view in
            try term.check(transaction)
            let due = try transaction.dueMessages(hub: hub.record.id, at: now, limit: Self.releasedAtOnce)
            var releases: [Release] = []
            for message in due { releases.append(try release(message, at: now, transaction, view)) }
            let nextDue = try transaction.nextDue(hub: hub.record.id)
            let effects = releases.flatMap { [$0.effect] + $0.deliveries.effects }
            return (releases, [UnscheduledEffect(due, nextDue: nextDue)] + effects)
        }
        for release in releases {
            hub.counters.push.add(release.deliveries.outcomes)
            switch release.effect {
            case let effect as MessageEffect: hub.counters.accept(effect.matched.counts)
            case let effect as UnreadableEffect: release.failure.map { hub.noteUnreadable(effect.keys, $0) }
            default: break
            }
        }
        return releases.count == Self.releasedAtOnce
    }

    private struct Release: Sendable {
        let effect: any HubEffect
        var deliveries = MessageIntake.Deliveries()
        /// The reason why the message cannot be read.
        var failure: (any Error)?
    }

    /// Appends a message to the log, also one that cannot be read, so that streams get a gap.
    private func release(
        _ scheduled: ScheduledMessage,
        at: Timestamp,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> Release {
        let record = scheduled.record
        // A message that cannot be read has no recipients.
        let readable = try? (message: record.message, targets: record.targets)
        var matched: Matched?
        if let (message, targets) = readable {
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
        if let (message, targets) = readable {
            deliveries = try hub.messages.insertDeliveries(of: message, targets, sequence, at: at, transaction, view)
        }
        do {
            var routed = try LoggedMessage(sequence: sequence, record: record).routed
            routed.acceptedAt = at
            return Release(effect: MessageEffect(routed, matched: matched ?? .nobody), deliveries: deliveries)
        } catch {
            return Release(effect: UnreadableEffect(sequence), failure: error)
        }
    }
}

extension UnscheduledEffect {
    /// Makes the effect of messages that are no longer scheduled; `nextDue` is the time of the next one.
    fileprivate init(_ gone: [ScheduledMessage], nextDue: Timestamp?) {
        self.init(messages: gone.count, bytes: gone.reduce(0) { $0 + $1.record.bytes }, nextDue: nextDue)
    }
}
