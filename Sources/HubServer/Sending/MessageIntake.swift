import Formats
import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubStreams

/// Accepts the messages of a hub's senders.
struct MessageIntake {
    /// Deliveries to push services that were stored with a message.
    struct Deliveries: Sendable {
        var effects: [any HubEffect] = []
        /// Outcomes of targets on platforms without a credential.
        var outcomes: [PushCounters.Outcome: Int] = [:]
    }

    private enum Acceptance: Sendable {
        case sent(RecipientCounts, [PushCounters.Outcome: Int])
        case scheduled
        case repeated(MessageID)
    }

    let hub: Hub

    /// Accepts a message and returns when it is durable, in the log or among the scheduled messages.
    ///
    /// - Returns: The message's id; for a repeat, the id of the first message.
    /// - Throws: 422 if the idempotency key was used for other content, 400 for a scheduled time that is not in the
    ///   future, 403 if too many messages are scheduled.
    func accept(_ incoming: IncomingMessage) async throws -> MessageID { try await receive(incoming).id }

    /// Accepts a message; `isRepeat` is true for a repeat of an earlier one.
    func receive(_ incoming: IncomingMessage) async throws -> (id: MessageID, isRepeat: Bool) {
        let at = hub.configuration.timestamp
        let key = hub.record.id
        let acceptance = try await hub.perform(bytes: incoming.bytes) { transaction, view in
            if let idempotencyKey = incoming.idempotencyKey,
                let first = try transaction.acceptedMessage(hub: key, key: idempotencyKey)
            {
                guard first.contentHash == incoming.contentHash else {
                    throw ProtocolError.unprocessable(
                        "The Idempotency-Key was used for another message; use a new key for new content."
                    )
                }
                return (Acceptance.repeated(first.id), [])
            }
            let (acceptance, effects) = try take(incoming, at: at, transaction, view)
            if let idempotencyKey = incoming.idempotencyKey {
                try transaction.recordKey(
                    idempotencyKey,
                    hub: key,
                    message: incoming.id,
                    contentHash: incoming.contentHash,
                    at: at
                )
            }
            return (acceptance, effects)
        }
        switch acceptance {
        case .sent(let counts, let outcomes):
            hub.counters.accept(counts)
            hub.counters.push.add(outcomes)
        case .scheduled: break
        case .repeated(let first):
            hub.counters.repeated.add(1)
            return (first, true)
        }
        return (incoming.id, false)
    }

    private func take(
        _ incoming: IncomingMessage,
        at: Timestamp,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> (Acceptance, [any HubEffect]) {
        guard let schedule = incoming.schedule else {
            let sent = try send(incoming, at: at, transaction, view)
            return (.sent(sent.counts, sent.outcomes), sent.effects)
        }
        let record = try record(of: incoming, try targets(of: incoming, transaction, view))
        try schedule.check(now: at.date)
        try ScheduledMessages.checkRoom(for: record.bytes, view.scheduled)
        let dueAt = Timestamp(schedule.date)
        try transaction.schedule(record, hub: hub.record.id, dueAt: dueAt, at: at)
        return (.scheduled, [ScheduledEffect(bytes: record.bytes, dueAt: dueAt)])
    }

    /// Appends a message that is sent at once to the log, within a change of the hub.
    func send(
        _ incoming: IncomingMessage,
        at: Timestamp,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> (counts: RecipientCounts, outcomes: [PushCounters.Outcome: Int], effects: [any HubEffect]) {
        let message = incoming.message
        let targets = try targets(of: incoming, transaction, view)
        let record = try record(of: incoming, targets)
        let matched = try matched(by: message, targets, transaction, view)
        let sequence = try transaction.appendMessage(record, hub: hub.record.id, at: at, matched: matched.counts)
        var routed = RoutedMessage(
            sequence: sequence,
            id: incoming.id,
            message,
            installations: targets?.installations
        )
        routed.acceptedAt = at
        let deliveries = try insertDeliveries(of: message, targets, sequence, at: at, transaction, view)
        return (matched.counts, deliveries.outcomes, [MessageEffect(routed, matched: matched)] + deliveries.effects)
    }

    private func record(of incoming: IncomingMessage, _ targets: MessageTargets?) throws -> MessageRecord {
        let message = incoming.message
        return try MessageRecord(
            id: incoming.id,
            tags: message.audience.expression?.text,
            body: message.body,
            format: message.format,
            headers: message.headers,
            targets: targets
        )
    }

    /// Stores the targets of push services with the message.
    ///
    /// A delivery on a platform without a credential ends at once, each target with its reason: a credential that is
    /// set later does not send older messages. A test send has no deliveries here, because ``TestSend`` makes its
    /// attempts.
    func insertDeliveries(
        of message: Message,
        _ targets: MessageTargets?,
        _ sequence: LogSequence,
        at: Timestamp,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> Deliveries {
        guard targets?.isTest != true, message.format != .stream else { return Deliveries() }
        var sets: [Platform: OrdinalSet] = [:]
        if let targets, let platform = message.format.platform {
            let places = targets.handles.indices.distinct { targets.handles[$0].address }
            sets[platform] = OrdinalSet(places.map { Ordinal(rawValue: Int64($0)) })
        } else if targets == nil {
            sets = view.registry.pushTargets(of: message.audience.expression, message.format)
        }
        guard !sets.isEmpty else { return Deliveries() }
        let credentials = PushCredentials(view.policy.credentials, hub.configuration)
        var deliveries = Deliveries()
        for (platform, set) in sets.sorted(by: { $0.key < $1.key }) where !set.isEmpty {
            let key = DeliveryKey(sequence: sequence, platform: platform)
            let credential = credentials[platform]
            try transaction.insertDelivery(
                key,
                hub: hub.record.id,
                targets: set,
                isDirect: targets != nil,
                audience: credential.flatMap {
                    hub.push.audience(of: $0, on: platform, by: hub.configuration.pushServices)
                }
            )
            if credential != nil {
                deliveries.effects = [DeliveryEffect()]
            } else {
                let refusal = PushRefusal(noCredentialFor: platform, message, hub.configuration)
                let count = try transaction.end(key, as: refusal.outcome, reason: refusal.reason, at: at)
                deliveries.outcomes.add(count, refusal.outcome, platform)
            }
        }
        return deliveries
    }

    /// Returns the targets that a message names; `nil` if it is for all that match.
    private func targets(
        of incoming: IncomingMessage,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> MessageTargets? {
        var targets: MessageTargets?
        if let handles = incoming.message.audience.handles {
            targets = try direct(to: handles, incoming.message.format, transaction, view)
        } else if incoming.isTest {
            targets = try sample(for: incoming.message, transaction, view)
        }
        if incoming.isTest { targets?.limitToTest() }
        return targets
    }

    /// Returns the targets of a direct send.
    ///
    /// A handle of platform `stream` is an installation's id or its secret; the secret is not stored.
    private func direct(
        to handles: [PushChannel],
        _ format: MessageFormat,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> MessageTargets {
        var targets = MessageTargets()
        targets.isDirect = true
        guard format == .stream else {
            targets.handles = handles
            return targets
        }
        for handle in handles.map(\.handle) {
            var found = try (try? PushChannelSecret(handle))
                .flatMap { try transaction.installation(hub: hub.record.id, channelDigest: $0.digest) }
            if found == nil, let id = try? InstallationID(handle) { found = view.registry[id]?.id }
            if let found {
                if !targets.installations.contains(found) { targets.installations.append(found) }
            } else {
                targets.unknown += 1
            }
        }
        return targets
    }

    /// Returns the first targets that match, for a test send.
    private func sample(
        for message: Message,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> MessageTargets {
        var targets = MessageTargets()
        let (installations, ordinals) = view.registry.sample(
            of: message.audience.expression,
            message.format,
            limit: NotificationOutcome.maximumResults
        )
        targets.installations = installations
        targets.registrations = try transaction.registrations(ordinals: ordinals).map(\.registration.id)
        return targets
    }

    /// Counts the targets of a message, by platform.
    ///
    /// The counts do not include changes of registrations in the same commit; the machine corrects them afterwards.
    func matched(
        by message: Message,
        _ targets: MessageTargets?,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> Matched {
        guard let targets else { return view.matched(by: message.audience.expression, message.format) }
        var platforms: [String: Int] = [:]
        if !targets.installations.isEmpty { platforms[Platform.stream.rawValue] = targets.installations.count }
        if let platform = message.format.platform, !targets.handles.isEmpty {
            platforms[platform.rawValue] = Set(targets.handles.map(\.address)).count
        }
        for id in targets.registrations {
            guard let stored = try transaction.registration(hub: hub.record.id, id: id) else { continue }
            platforms[stored.registration.platform.folded.rawValue, default: 0] += 1
        }
        let counts = RecipientCounts(total: platforms.values.reduce(0, +), platforms: platforms)
        return Matched(counts: counts, changes: nil)
    }
}

extension MessageTargets {
    /// Removes the targets beyond the maximum of a test send.
    fileprivate mutating func limitToTest() {
        isTest = true
        handles = Array(handles.prefix(NotificationOutcome.maximumResults))
        installations = Array(installations.prefix(NotificationOutcome.maximumResults))
        // Only direct sends to streams have unknown handles, and they have no other handles.
        unknown = min(unknown, NotificationOutcome.maximumResults - installations.count)
    }
}
