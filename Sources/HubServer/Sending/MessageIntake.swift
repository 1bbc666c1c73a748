import Foundation
import HubProtocol
import HubStore
import Logging
import Synchronization

extension Hub {
    private enum Acceptance: Sendable {
        case sent(Appended)
        case scheduled(bytes: Int, dueAt: Int64)
        case repeated(MessageID)
    }

    /// A message that has its place in the log.
    struct Appended: Sendable {
        let message: RoutedMessage
        let matched: Matched
    }

    /// Accepts a message: when this returns it is durable, and owed or scheduled.
    ///
    /// - Returns: The message's id; for a repeat, the first one's.
    /// - Throws: 422 when the idempotency key was used for other content; 400 for a time that is not ahead, 403 when too
    ///   much waits for its time.
    func accept(_ incoming: IncomingMessage) async throws -> MessageID {
        let hub = record.id
        let at = configuration.nowMilliseconds
        let acceptance = try await writer.perform(bytes: incoming.bytes) { transaction -> Acceptance in
            if let key = incoming.idempotencyKey, let first = try transaction.acceptedMessage(hub: hub, key: key) {
                guard first.contentHash == incoming.contentHash else {
                    throw ProtocolError.unprocessable(
                        "The Idempotency-Key was used for another message; use a new key for new content."
                    )
                }
                return .repeated(first.id)
            }
            let acceptance = try self.take(incoming, at: at, transaction)
            if let key = incoming.idempotencyKey {
                try transaction.recordKey(
                    key,
                    hub: hub,
                    message: incoming.id,
                    contentHash: incoming.contentHash,
                    at: at
                )
            }
            return acceptance
        } apply: { acceptance in
            switch acceptance {
            case .sent(let appended): self.publish(appended)
            case .scheduled(let bytes, let dueAt): self.state.withLock { $0.scheduled.add(bytes, dueAt: dueAt) }
            case .repeated: self.counters.repeated.add(1)
            }
        }
        return if case .repeated(let first) = acceptance { first } else { incoming.id }
    }

    private func take(_ incoming: IncomingMessage, at: Int64, _ transaction: Transaction) throws -> Acceptance {
        let message = incoming.message
        let targets = try targets(of: incoming, transaction)
        let record = try MessageRecord(
            id: incoming.id,
            tags: message.audience.expression?.text,
            body: message.body,
            format: message.format,
            headers: message.headers,
            targets: targets
        )
        guard let schedule = incoming.schedule else {
            let matched = try matched(by: message, targets, transaction)
            let sequence = try transaction.appendMessage(record, hub: self.record.id, at: at, matched: matched.counts)
            let routed = RoutedMessage(sequence: sequence, id: incoming.id, message, targets: targets)
            return .sent(Appended(message: routed, matched: matched))
        }
        try schedule.check(now: Date(timeIntervalSince1970: Double(at) / 1000))
        try checkRoom(for: record.bytes)
        let dueAt = schedule.date.milliseconds
        try transaction.schedule(record, hub: self.record.id, dueAt: dueAt, at: at)
        return .scheduled(bytes: record.bytes, dueAt: dueAt)
    }

    /// Whom a message is for, where that is not everybody who matches; `nil` where it is.
    private func targets(of incoming: IncomingMessage, _ transaction: Transaction) throws -> MessageTargets? {
        var targets: MessageTargets?
        if let handles = incoming.message.audience.handles {
            targets = try direct(to: handles, incoming.message.format, transaction)
        } else if incoming.isTest {
            targets = try sample(for: incoming.message, transaction)
        }
        if incoming.isTest { targets?.limitToTest() }
        return targets
    }

    /// The targets of a direct send: of platform `stream` the installations whose secret, or whose id, a handle is.
    ///
    /// The secret itself is not kept.
    private func direct(
        to handles: [PushChannel],
        _ format: MessageFormat,
        _ transaction: Transaction
    ) throws -> MessageTargets {
        var targets = MessageTargets()
        targets.isDirect = true
        guard format == .stream else {
            targets.handles = handles
            return targets
        }
        for handle in handles.map(\.handle) {
            var found = try (try? PushChannelSecret(handle))
                .flatMap { try transaction.installation(hub: record.id, channelDigest: $0.digest) }
            if found == nil, let id = try? InstallationID(handle) {
                found = state.withLock { $0.registry[id]?.id }
            }
            if let found {
                if !targets.installations.contains(found) { targets.installations.append(found) }
            } else {
                targets.unknown += 1
            }
        }
        return targets
    }

    /// The first of those who match, for a test send.
    private func sample(for message: Message, _ transaction: Transaction) throws -> MessageTargets {
        var targets = MessageTargets()
        let (installations, ordinals) = state.withLock {
            $0.registry.sample(
                of: message.audience.expression,
                message.format,
                limit: NotificationOutcome.maximumResults
            )
        }
        targets.installations = installations
        targets.registrations = try transaction.registrations(ordinals: ordinals).map(\.registration.id)
        return targets
    }

    /// How many targets of each platform a message has.
    func matched(
        by message: Message,
        _ targets: MessageTargets?,
        _ transaction: Transaction
    ) throws -> Matched {
        guard let targets else { return matched(by: message.audience.expression, message.format) }
        var platforms: [String: Int] = [:]
        if !targets.installations.isEmpty { platforms[Platform.stream.rawValue] = targets.installations.count }
        if let platform = message.format.platform, !targets.handles.isEmpty {
            platforms[platform.rawValue] = Set(targets.handles.map(\.handle)).count
        }
        for id in targets.registrations {
            guard let stored = try transaction.registration(hub: record.id, id: id) else { continue }
            platforms[stored.registration.platform.rawValue.lowercased(), default: 0] += 1
        }
        let counts = RecipientCounts(total: platforms.values.reduce(0, +), platforms: platforms)
        return Matched(counts: counts, changes: nil)
    }

    /// Hands a message that is in the log to the streams it is for.
    func publish(_ appended: Appended) {
        let message = appended.message
        counters.accept(appended.matched.counts)
        recount(appended.matched, by: message.expression, message.format, sequence: message.sequence)
        let refused = state.withLock { state in
            state.lastMessage = message.sequence
            state.advance(to: message.sequence)
            return state.broadcast.publish(message, registry: state.registry)
        }
        if refused > 0 { noteOversize(message.id, renderings: refused) }
    }

    /// Counts renderings that were too large, and says so once: anybody with Listen can bring more about.
    func noteOversize(_ id: MessageID, renderings: Int = 1) {
        counters.oversize.add(renderings)
        let isFirst = state.withLock { state in
            defer { state.hasSaidOversize = true }
            return !state.hasSaidOversize
        }
        guard isFirst else { return }
        logger.warning(
            "a message grew beyond the limit when templates rendered it: a gap is sent there; more of them are only counted",
            metadata: ["message.id": "\(id)", "limit.bytes": "\(EventEncoding.maximumMessageBytes)"]
        )
    }
}

extension MessageTargets {
    /// Leaves as many as a test send is delivered to.
    fileprivate mutating func limitToTest() {
        isTest = true
        handles = Array(handles.prefix(NotificationOutcome.maximumResults))
        installations = Array(installations.prefix(NotificationOutcome.maximumResults))
        // Only a direct send to streams has any, and no handles beside them.
        unknown = min(unknown, NotificationOutcome.maximumResults - installations.count)
    }
}
