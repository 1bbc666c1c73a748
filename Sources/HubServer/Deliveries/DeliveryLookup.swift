import Foundation
import HubProtocol
import HubRouting
import HubStore
import HubStreams
import NIOCore
import Signals
import Synchronization

/// Reports the outcomes of messages.
///
/// Each installation is judged by its choice when the message was accepted, which the store keeps as long as the log.
/// The registry supplies the choices of installations that have not changed since, and the store those of the others.
struct DeliveryLookup: Sendable {
    /// Maximum number of messages in one list.
    static let maximumListed = 100
    /// Number of changed installations that are read in one snapshot of the store.
    private static let changedAtOnce = 100
    /// The rendering cost that one report may take, in bytes; beyond it, heavy recipients are assumed to get messages of
    /// allowed size.
    private static let maximumCost = 32 << 20

    let hub: Hub
    let loops: [StreamLoop]

    /// A message, in the log or scheduled.
    private enum Found {
        case sent(AcceptedMessage)
        case scheduled(ScheduledMessage)
    }

    /// Reports the outcome of a message and, on request, the reason why a device got it or did not.
    ///
    /// - Throws: 404 if the hub does not hold the message.
    func report(_ id: MessageID, device: String?) async throws -> MessageReport {
        switch try await find(id) {
        case .sent(let message):
            var report = try await reports([message])[0]
            report.times = try await times(of: message)
            if let device { report.device = try await DeviceLookup(self, message).report(device) }
            return report
        case .scheduled(let message):
            var report = try scheduledReport(message)
            if let device { report.device = DeviceReport(id: device, waitingFor: report) }
            return report
        }
    }

    /// The protocol's telemetry of a message; `hasFailures` is true if a target on a push service has failed.
    ///
    /// - Throws: 404 if the hub does not hold the message.
    func details(_ id: MessageID) async throws -> (NotificationDetails, hasFailures: Bool) {
        switch try await find(id) {
        case .sent(let message):
            let report = try await reports([message])[0]
            let states = try await hub.store.deliveryStates(of: message.logged.sequence)
            let endedAt = states.compactMap(\.delivery.endedAt).max()
            let hasFailures = states.contains { $0.outcomes.contains { $0.key != .success && $0.value > 0 } }
            return (NotificationDetails(report, message, endedAt: endedAt), hasFailures)
        case .scheduled(let message): return (NotificationDetails(try scheduledReport(message), message), false)
        }
    }

    /// The times to the deliveries of a message; `nil` if none is known.
    private func times(of message: AcceptedMessage) async throws -> [String: MessageReport.Times]? {
        let sequence = message.logged.sequence
        var times: [String: MessageReport.Times] = [:]
        if let streams = try await hub.streamTimesOfAllNodes(sequence) {
            times[Platform.stream.rawValue] = .init(first: streams.first, last: streams.last)
        }
        for delivery in try await hub.store.deliveries(of: sequence) {
            guard let first = delivery.beganAt else { continue }
            // The clock may have been set back since.
            let wait = { (end: Timestamp) in max(.zero, end - message.at) }
            times[delivery.key.platform.rawValue] = .init(first: wait(first), last: delivery.endedAt.map(wait))
        }
        return times.isEmpty ? nil : times
    }

    /// The newest messages, newest first, after as many scheduled ones.
    func newest(_ count: Int) async throws -> [MessageReport] {
        try await scheduled(count).reversed() + (try await sent(count, before: .end))
    }

    /// The newest messages before a place in the log, newest first.
    func sent(_ count: Int, before place: LogSequence) async throws -> [MessageReport] {
        let last = min(hub.status.head, place.previous)
        return try await reports(hub.store.newestMessages(hub: hub.record.id, through: last, limit: count))
            .map(\.listed)
    }

    /// The newest messages, each with the reason why a device got it or did not, and without outcomes at others.
    func explained(to name: String, _ count: Int) async throws -> [MessageReport] {
        let messages = try await hub.store.newestMessages(
            hub: hub.record.id,
            through: hub.status.head,
            limit: count
        )
        return try await hub.lookups.pass {
            var reports: [MessageReport] = []
            for message in messages {
                let record = message.logged.record
                // A message that cannot be read was not sent to anybody.
                guard let id = try? record.id, let device = try? DeviceLookup(self, message) else { continue }
                var report = MessageReport(
                    id: id,
                    format: record.format,
                    acceptedAt: message.at.wholeSecond,
                    state: .unknown
                )
                report.show(record, reserved: hub.configuration.reservedTags)
                report.device = try await device.report(name)
                reports.append(report.listed)
            }
            return reports
        }
    }

    /// The messages that have the story and the version of another one, in the order of the log.
    func sameVersion(as story: SentStory, near place: LogSequence) async throws -> [SentStory] {
        guard let version = story.properties[.version] else { return [story] }
        let found = try await sameStory(as: story, from: place, atMost: Self.searchedAfter).map(\.story)
            .filter { $0.properties[.version] == version }
        return found.contains { $0.id == story.id } ? found : [story]
    }

    /// The messages that have the story of another one, in the order of the log, among `count` before and after it.
    func sameStory(
        as story: SentStory,
        from place: LogSequence,
        atMost count: Int64 = Self.searchedForVersions
    ) async throws -> [(story: SentStory, at: Timestamp)] {
        let last = min(hub.status.head.rawValue, min(place.rawValue, .max - count) + count)
        let messages = try await hub.lookups.pass {
            try await hub.store.newestMessages(
                hub: hub.record.id,
                through: LogSequence(rawValue: last),
                limit: Int(2 * count)
            )
        }
        return messages.reversed().compactMap { message -> (story: SentStory, at: Timestamp)? in
            let record = message.logged.record
            guard record.format == .template, let id = try? record.id,
                case .success(let targets) = Result(catching: { try record.targets })
            else { return nil }
            var report = MessageReport(id: id, format: record.format, acceptedAt: "", state: .completed)
            report.describe(.none, tags: record.tags, targets)
            report.show(record, reserved: hub.configuration.reservedTags)
            guard let other = try? SentStory(report), other.story == story.story else { return nil }
            return (other, message.at)
        }
    }

    /// Number of messages after another one, and before it, among which its version is searched.
    private static let searchedAfter: Int64 = 100
    /// The same for all versions of its story.
    static let searchedForVersions: Int64 = 500

    /// The waiting messages, the next due first.
    func scheduled(_ count: Int) async throws -> [MessageReport] {
        try await hub.store.scheduledMessages(hub: hub.record.id, limit: count).map { try scheduledReport($0).listed }
    }

    /// The message of a test send, with its outcome so far.
    func testSend(_ id: MessageID) async throws -> AcceptedMessage {
        guard case .sent(let message) = try await find(id) else { throw unknown(id) }
        return message
    }

    private func find(_ id: MessageID) async throws -> Found {
        // A message is in one of two places, and is committed shortly before it is visible to readers.
        for isLast in [false, true] {
            if let scheduled = try await hub.store.scheduledMessage(hub: hub.record.id, id: id) {
                return .scheduled(scheduled)
            }
            let head = hub.status.head
            if let sent = try await hub.store.message(hub: hub.record.id, id: id, through: head) { return .sent(sent) }
            if !isLast { await hub.writer.passInOrder() }
        }
        throw unknown(id)
    }

    private func unknown(_ id: MessageID) -> ProtocolError {
        .notFound("There is no message '\(id)' here: \(retention).")
    }

    private var retention: String {
        let (time, bytes) = (hub.configuration.timeToLive, hub.configuration.maximumLogBytes)
        return """
            the id is wrong, or the message is no longer stored; messages are stored for \(time.inUnits), or less if \
            they exceed \(bytes >> 20) MiB
            """
    }

    /// The reports of messages, which are given newest first.
    private func reports(_ messages: [AcceptedMessage]) async throws -> [MessageReport] {
        try await hub.lookups.pass { try await reportsInTurn(messages) }
    }

    private func reportsInTurn(_ messages: [AcceptedMessage]) async throws -> [MessageReport] {
        guard let oldest = messages.last, let newest = messages.first else { return [] }
        let asked = try await asking(messages)
        let recounted = try await hub.ask { $0.recounted }
        let encoding = hub.encoding
        // For each message, the streams that it matched; true for those that it is too large for.
        let cost = Spent(maximum: Self.maximumCost)
        var matching = asked.map { asked in
            asked.streams.mapValues { encoding.isTooLarge(asked, for: $0, cost) }
        }
        // An installation that changes from here on changes after all of the messages, and is found here.
        let changed = try await hub.store.changedInstallations(hub: hub.record.id, after: oldest.logged.sequence)
        for first in stride(from: 0, to: changed.count, by: Self.changedAtOnce) {
            let page = changed[first..<min(first + Self.changedAtOnce, changed.count)]
            let formers = try await hub.store.mapPendingRows(
                of: page.map(\.ordinal),
                over: oldest.logged.sequence...newest.logged.sequence
            ) { rows in
                var former = FormerRecipient(rows)
                return asked.map { asked in
                    former.stream(matching: asked.routed).map { encoding.isTooLarge(asked, for: $0, cost) }
                }
            }
            for (installation, former) in zip(page, formers) {
                for (place, asked) in asked.enumerated() where installation.lastChange > asked.routed.sequence {
                    matching[place][installation.ordinal] = former[place]
                }
            }
        }
        let streamStates = try await streamStates(of: matching.reduce(into: []) { $0.formUnion($1.keys) })
        var reports: [MessageReport] = []
        for (asked, streams) in zip(asked, matching) {
            var isAwaited = false
            let outcomes = streams.map { ordinal, isTooLarge in
                let streamState = streamStates[ordinal] ?? StreamState()
                let outcome = outcome(of: asked.message, isTooLarge: isTooLarge, at: streamState)
                if outcome == .pending, streamState.open != nil { isAwaited = true }
                return outcome
            }
            let deliveries = try await hub.store.deliveryStates(of: asked.routed.sequence)
            let isTest = try asked.message.logged.record.targets?.isTest == true
            let progress = Progress(outcomes: outcomes, isAwaited: isAwaited, deliveries: deliveries, isTest: isTest)
            reports.append(try report(asked.message, asked.routed.id, progress, recounted))
        }
        return reports
    }

    /// The outcome of a message so far.
    private struct Progress {
        let outcomes: [DeviceOutcome]
        /// True if the message is still to be written to an agent's open stream.
        let isAwaited: Bool
        let deliveries: [DeliveryState]
        let isTest: Bool
    }

    private func report(
        _ message: AcceptedMessage,
        _ id: MessageID,
        _ progress: Progress,
        _ recounted: [LogSequence: RecipientCounts]
    ) throws -> MessageReport {
        let outcomes = progress.outcomes
        let sequence = message.logged.sequence
        let record = message.logged.record
        let matched = recounted[sequence] ?? message.matched
        var streams = StreamOutcomes(outcomes)
        streams.gone = max(0, (matched?.platforms[Platform.stream.rawValue] ?? 0) - outcomes.count)
        var report = MessageReport(
            id: id,
            format: record.format,
            acceptedAt: (message.enqueuedAt ?? message.at).wholeSecond,
            state: Self.state(matched, streams, progress),
            streams: streams
        )
        report.describe(try record.headers, tags: record.tags, try record.targets)
        report.show(record, reserved: hub.configuration.reservedTags)
        report.position = sequence
        report.expiresAt = expiry(of: message).wholeSecond
        report.dueAt = message.enqueuedAt.map { _ in message.at.wholeSecond }
        report.matched = matched?.platforms
        report.outcomes = try MessageOutcomes(record, matched, streams, progress.deliveries).named
        return report
    }

    private func scheduledReport(_ message: ScheduledMessage) throws -> MessageReport {
        let record = message.record
        var report = MessageReport(
            id: try record.id,
            format: record.format,
            acceptedAt: message.scheduledAt.wholeSecond,
            state: message.canceledAt == nil ? .scheduled : .canceled
        )
        report.describe(try record.headers, tags: record.tags, try record.targets)
        report.show(record, reserved: hub.configuration.reservedTags)
        report.dueAt = message.dueAt.wholeSecond
        report.canceledAt = message.canceledAt?.wholeSecond
        return report
    }

    /// Disconnected agents affect counts, but never the state.
    private static func state(
        _ matched: RecipientCounts?,
        _ streams: StreamOutcomes,
        _ progress: Progress
    ) -> MessageState {
        let deliveries = progress.deliveries
        let isOpen = deliveries.contains { $0.delivery.endedAt == nil }
        if isOpen, streams.matched == 0, deliveries.allSatisfy({ $0.delivery.beganAt == nil }) { return .enqueued }
        if isOpen || progress.isAwaited { return .processing }
        guard let matched else { return .unknown }
        if matched.total == 0 { return .noTargetFound }
        let delivered = Set(deliveries.map(\.delivery.key.platform) + [.stream])
        let isLacking = matched.platforms.keys.contains { !delivered.contains(Platform(rawValue: $0)) }
        if isLacking, progress.isTest { return .unknown }
        let isGivenUp =
            isLacking
            || deliveries.contains { ($0.outcomes[.abandoned] ?? 0) + ($0.outcomes[.invalidCredentials] ?? 0) > 0 }
        if isGivenUp { return .abandoned }
        return streams.matched == 0 && deliveries.isEmpty ? .unknown : .completed
    }

    /// The outcome of a message for a `stream` installation that matched it at that time.
    func outcome(
        of message: AcceptedMessage,
        _ routed: RoutedMessage,
        for recipient: Recipient,
        at streamState: StreamState
    ) -> DeviceOutcome {
        let asked = AskedMessage(message: message, routed: routed, streams: [:])
        let isTooLarge = hub.encoding.isTooLarge(asked, for: recipient, Spent(maximum: Self.maximumCost))
        return outcome(of: message, isTooLarge: isTooLarge, at: streamState)
    }

    private func outcome(
        of message: AcceptedMessage,
        isTooLarge: Bool,
        at streamState: StreamState
    ) -> DeviceOutcome {
        if isTooLarge { return .tooLarge }
        let sequence = message.logged.sequence
        if streamState.resumed >= sequence { return .resumedPast }
        if streamState.position >= sequence { return .written }
        return hub.configuration.timestamp >= expiry(of: message) ? .expired : .pending
    }

    func expiry(of message: AcceptedMessage) -> Timestamp { message.at + hub.configuration.timeToLive }
}

// MARK: - Streams

/// The progress of an installation's stream.
struct StreamState: Sendable {
    /// The progress in the store, or waiting to be stored.
    var progress: StreamProgress?
    /// The position up to which the open stream was written; `nil` if it is closed.
    var open: LogSequence?
    /// The cursor of its last connection; 0 if it had none that this hub accepts.
    var resumed = LogSequence.start

    /// The position up to which the stream was written.
    var position: LogSequence { max(open ?? progress?.written ?? .start, resumed) }
}

extension DeliveryLookup {
    /// The present progress of installations' streams; for open ones exact to the byte handed to their connections.
    func streamStates(of ordinals: Set<Ordinal>) async throws -> [Ordinal: StreamState] {
        var open: [Ordinal: LogSequence] = [:]
        for loop in loops {
            open.merge(try await loop.eventLoop.submit { loop.positions(of: ordinals) }.get()) { max($0, $1) }
        }
        // The progress of streams that have ended before is recorded by now.
        await hub.writer.passInOrder()
        let pending = try await hub.ask { view in
            let progress = view.progress
            return ordinals.reduce(into: [Ordinal: StreamProgress]()) { $0[$1] = progress[$1] }
        }
        let (head, dropped) = (hub.status.head, hub.status.droppedThrough)
        let stored = try await hub.store.progress(of: ordinals)
        return ordinals.reduce(into: [:]) { streamStates, ordinal in
            let progress = StreamProgress.merged(stored[ordinal], pending[ordinal])
            var streamState = StreamState(progress: progress, open: open[ordinal])
            if let cursor = progress?.resumedFrom,
                case .resume(let after) = hub.epochs.resume(cursor, created: .start, top: head, droppedThrough: dropped)
            {
                streamState.resumed = after
            }
            streamStates[ordinal] = streamState
        }
    }
}

// MARK: - Matching

extension DeliveryLookup {
    /// Number of targets that are looked up before the writer does other work.
    private static let lookedUpAtOnce = 1_000

    private func asking(_ messages: [AcceptedMessage]) async throws -> [AskedMessage] {
        var asked: [AskedMessage] = []
        for message in messages { asked.append(try await asking(message)) }
        return asked
    }

    /// Finds the `stream` installations that a message is for, each in its state when it is looked up.
    private func asking(_ message: AcceptedMessage) async throws -> AskedMessage {
        let routed = try message.logged.routed
        var streams: [Ordinal: Recipient] = [:]
        var target: Ordinal? = 0
        while let after = target {
            let page = try await hub.ask {
                $0.registry.recipients(of: routed, afterTarget: after, limit: Self.lookedUpAtOnce)
            }
            streams.merge(page.streams) { $1 }
            target = page.last
        }
        return AskedMessage(message: message, routed: routed, streams: streams)
    }
}

private struct AskedMessage: Sendable {
    let message: AcceptedMessage
    let routed: RoutedMessage
    /// The `stream` installations that it matches now.
    let streams: [Ordinal: Recipient]
}

/// The former choices of an installation that has changed, compiled on demand.
private struct FormerRecipient {
    private let rows: [PendingRow]
    /// The last choice requested; `nil` if it is unreadable or not for platform `stream`.
    private var last: (row: LogSequence, recipient: Recipient?)?

    init(_ rows: [PendingRow]) { self.rows = rows }

    /// The recipient at the time of a message, if it was a stream that the message matched.
    mutating func stream(matching message: RoutedMessage) -> Recipient? {
        guard
            let row = rows.inForce(at: message.sequence), let recipient = recipient(row), recipient.receives(message)
        else { return nil }
        return recipient
    }

    private mutating func recipient(_ row: PendingRow) -> Recipient? {
        if let last, last.row == row.afterSequence { return last.recipient }
        let installation = try? row.installation
        let recipient = installation.flatMap { $0.platform == .stream ? try? Recipient($0) : nil }
        last = (row.afterSequence, recipient)
        return recipient
    }
}

/// The rendering cost of one report so far.
private final class Spent: Sendable {
    let maximum: Int
    private let cost = Atomic<Int>(0)

    init(maximum: Int) { self.maximum = maximum }

    var isExhausted: Bool { cost.load(ordering: .relaxed) >= maximum }

    func add(_ bytes: Int) { cost.add(bytes, ordering: .relaxed) }
}

extension EventEncoding {
    /// True if a gap is sent instead of the message.
    fileprivate func isTooLarge(_ asked: AskedMessage, for recipient: Recipient, _ spent: Spent) -> Bool {
        // Only heavy templates and long messages can exceed the limit.
        let isLong = asked.message.logged.body.count > Self.maximumMessageBytes / 64
        guard isLong || recipient.isHeavy, !spent.isExhausted else { return false }
        var cost = 0
        defer { spent.add(cost) }
        return encode(asked.routed, for: recipient, cost: &cost)?.isGap == true
    }
}

extension Duration {
    /// The duration in the largest unit that leaves a whole number: `72 h`, `90 min`, `5 s`.
    fileprivate var inUnits: String {
        let seconds = components.seconds
        if seconds % 3600 == 0 { return "\(seconds / 3600) h" }
        return seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}
