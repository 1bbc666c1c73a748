import Foundation
import HubProtocol
import HubStore
import NIOCore
import Synchronization

/// Finds out what became of messages.
///
/// Each installation is judged by what it wanted when the message came, which the store knows as far back as the log:
/// the registry answers for those that have not changed since, ``ChangedInstallation`` for the others.
struct DeliveryInquiry: Sendable {
    /// Messages that are listed at once.
    static let maximumListed = 100

    let hub: Hub
    let loops: [StreamLoop]

    /// - Throws: 404 when the log does not hold the message.
    func report(_ id: MessageID, device: InstallationID?) async throws -> MessageReport {
        let head = hub.state.withLock { $0.head }
        guard let message = try await hub.store.message(hub: hub.record.id, id: id, through: head) else {
            throw ProtocolError.notFound("There is no message '\(id)' here: \(retention).")
        }
        var report = try await reports([message])[0]
        if let device { report.device = try await DeviceInquiry(self, message).report(device) }
        return report
    }

    /// The newest messages, newest first.
    func newest(_ count: Int) async throws -> [MessageReport] {
        let head = hub.state.withLock { $0.head }
        return try await reports(
            try await hub.store.newestMessages(hub: hub.record.id, through: head, limit: count)
        )
    }

    private var retention: String {
        let (time, bytes) = (hub.configuration.timeToLive, hub.configuration.maximumLogBytes)
        return """
            the id is wrong, or the hub no longer keeps it; messages are kept for \(time.inUnits), and for less while \
            they are more than \(bytes >> 20) MiB
            """
    }

    /// The reports of messages, which are newest first.
    private func reports(_ messages: [AcceptedMessage]) async throws -> [MessageReport] {
        guard let oldest = messages.last else { return [] }
        let routed = try messages.map { try RoutedMessage($0.logged) }
        let unchanged = routed.map { message in hub.streams(matching: message.expression) }
        // Whoever changes from here on changes after all of the messages, and is found here.
        let changed = try await hub.store.changedInstallations(hub: hub.record.id, after: oldest.logged.sequence)
            .map { FormerRecipient($0) }
        let matching = zip(routed, unchanged).map { message, unchanged in
            var matching = unchanged
            for former in changed where former.lastChange > message.sequence {
                matching[former.ordinal] = former.stream(matching: message)
            }
            return matching
        }
        let standings = try await standings(of: matching.reduce(into: []) { $0.formUnion($1.keys) })
        return zip(zip(messages, routed), matching).map { message, streams in
            let outcomes = streams.map { ordinal, recipient in
                outcome(of: message.0, message.1, for: recipient, at: standings[ordinal] ?? StreamStanding())
            }
            return report(message.0, message.1.id, outcomes)
        }
    }

    private func report(_ message: AcceptedMessage, _ id: MessageID, _ outcomes: [DeviceOutcome]) -> MessageReport {
        let sequence = message.logged.sequence
        let matched = hub.state.withLock { $0.recounted[sequence] } ?? message.matched
        var streams = StreamOutcomes()
        streams.matched = outcomes.count
        for outcome in outcomes {
            switch outcome {
            case .tooLarge: streams.tooLarge = (streams.tooLarge ?? 0) + 1
            case .resumedPast:
                streams.resumedPast += 1
                streams.written += 1
            case .written: streams.written += 1
            case .expired: streams.expired += 1
            default: streams.owed += 1
            }
        }
        streams.gone = max(0, (matched?.platforms[Platform.stream.rawValue] ?? 0) - outcomes.count)
        return MessageReport(
            id: id,
            acceptedAt: Self.time(message.at),
            expiresAt: Self.time(expiry(of: message)),
            position: sequence,
            tags: message.logged.tags,
            state: Self.state(matched, streams),
            matched: matched?.platforms,
            streams: streams
        )
    }

    private static func state(_ matched: RecipientCounts?, _ streams: StreamOutcomes) -> MessageState {
        if streams.owed > 0 { return .processing }
        guard let matched else { return .unknown }
        if matched.total == 0 { return .noTargetFound }
        let elsewhere = matched.platforms.filter { $0.key != Platform.stream.rawValue }
        if streams.expired > 0 || streams.tooLarge != nil || !elsewhere.isEmpty { return .abandoned }
        return streams.written > 0 ? .completed : .unknown
    }

    /// What became of a message that a `stream` installation matched as it was then.
    func outcome(
        of message: AcceptedMessage,
        _ routed: RoutedMessage,
        for recipient: Recipient,
        at standing: StreamStanding
    ) -> DeviceOutcome {
        let sequence = message.logged.sequence
        // To render it for each of many would take long, and few templates can make so much of it.
        if recipient.maximumBytes(ofBody: message.logged.body.count) > EventEncoding.maximumMessageBytes,
            hub.encoding.encode(routed, for: recipient)?.isGap == true
        {
            return .tooLarge
        }
        if standing.resumed >= sequence { return .resumedPast }
        if standing.position >= sequence { return .written }
        return hub.configuration.nowMilliseconds >= expiry(of: message) ? .expired : .owed
    }

    /// Milliseconds since 1970.
    func expiry(of message: AcceptedMessage) -> Int64 {
        message.at + hub.configuration.timeToLive.milliseconds
    }

    /// ISO 8601 in whole seconds, of milliseconds since 1970.
    static func time(_ milliseconds: Int64) -> String {
        ISODateTime.format(Date(timeIntervalSince1970: Double(milliseconds / 1000)))
    }
}

// MARK: - Streams

/// How far an installation's stream is.
struct StreamStanding: Sendable {
    /// As noted in the store or waiting to be.
    var progress: StreamProgress?
    /// It is open, and was written up to this position.
    var open: Int64?
    /// The position it last came back with, 0 for none that this hub can honour.
    var resumed: Int64 = 0

    /// It was written everything up to here.
    var position: Int64 { max(open ?? progress?.written ?? 0, resumed) }
}

extension DeliveryInquiry {
    /// How far the streams of installations are now, open ones to the byte that was handed to their connections.
    func standings(of ordinals: Set<Int64>) async throws -> [Int64: StreamStanding] {
        var open: [Int64: Int64] = [:]
        for loop in loops {
            open.merge(try await loop.eventLoop.submit { loop.positions() }.get()) { max($0, $1) }
        }
        // Streams that have ended before are noted by now.
        await hub.writer.inOrder {}
        let (pending, head, dropped) = hub.state.withLock { ($0.progress, $0.head, $0.droppedThrough) }
        let stored = try await hub.store.progress(of: ordinals)
        return ordinals.reduce(into: [:]) { standings, ordinal in
            let progress = StreamProgress.merged(stored[ordinal], pending[ordinal])
            var standing = StreamStanding(progress: progress, open: open[ordinal])
            if let cursor = progress?.resumedFrom,
                case .resume(let after) = hub.epochs.resume(cursor, created: 0, top: head, droppedThrough: dropped)
            {
                standing.resumed = after
            }
            standings[ordinal] = standing
        }
    }
}

// MARK: - Matching

extension Hub {
    /// The `stream` installations that match now, by their ordinals.
    fileprivate func streams(matching expression: TagExpression?) -> [Int64: Recipient] {
        state.withLock { state in
            state.registry.streams(of: expression, .template).reduce(into: [:]) { streams, ordinal in
                streams[ordinal] = state.registry[ordinal]?.recipient
            }
        }
    }
}

/// An installation that has changed, with what it wanted when: compiled once for many messages.
private struct FormerRecipient {
    let ordinal: Int64
    let lastChange: Int64
    private let rows: [OwedRow]
    /// Of the rows of platform `stream` that can be read, by their places.
    private let streams: [Int64: Recipient]

    init(_ changed: ChangedInstallation) {
        ordinal = changed.ordinal
        lastChange = changed.lastChange
        rows = changed.rows
        streams = rows.reduce(into: [:]) { streams, row in
            guard let installation = try? row.installation, installation.platform == .stream else { return }
            streams[row.afterSequence] = try? Recipient(installation)
        }
    }

    /// What it was as a stream, if the message matched it then.
    func stream(matching message: RoutedMessage) -> Recipient? {
        guard
            let row = rows.inForce(at: message.sequence), let recipient = streams[row.afterSequence]
        else { return nil }
        return recipient.targets.contains { recipient.matches(message.expression, $0) } ? recipient : nil
    }
}

extension Duration {
    /// In the largest unit that leaves a whole number: `72 h`, `90 min`, `5 s`.
    fileprivate var inUnits: String {
        let seconds = components.seconds
        if seconds % 3600 == 0 { return "\(seconds / 3600) h" }
        return seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}
