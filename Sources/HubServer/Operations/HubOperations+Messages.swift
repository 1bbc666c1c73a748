import FairShares
import HubProtocol
import HubRouting
import HubStore

// MARK: - Messages

extension HubOperations {
    /// Reads a message in the form of a request.
    ///
    /// - Throws: 400 or 413.
    func message(
        _ kind: SendRequest.Kind,
        headers: [(name: String, value: String)],
        query: String,
        body: [UInt8]
    ) throws(ProtocolError) -> IncomingMessage {
        IncomingMessage(
            try SendRequest(
                kind,
                headers: headers,
                query: query,
                body: body,
                now: configuration.now(),
                expressionLimits: configuration.expressionLimits
            )
        )
    }

    /// Accepts a message that is sent at once or scheduled.
    func accept(_ message: IncomingMessage) async throws -> MessageID {
        try need(.send)
        return try await hub.messages.accept(message)
    }

    /// Makes a test send.
    ///
    /// - Throws: 429 for too many test sends; the errors of ``TestSends/answer(to:_:)``.
    func test(_ message: IncomingMessage) async throws -> TestSends.Answer {
        try need(.send)
        if let wait = hub.testSends.rate.admit(hub.record.id) {
            throw ProtocolError.tooManyRequests(
                "A hub accepts \(TestSends.limit.burst) test sends a minute; each calls push services immediately.",
                wait: wait
            )
        }
        return try await hub.testSends.answer(to: message, lookup)
    }

    func cancel(_ id: MessageID) async throws {
        try need(.send)
        try await hub.scheduled.cancel(id)
    }

    func details(of id: MessageID) async throws -> (details: NotificationDetails, hasFailures: Bool) {
        try need(.send)
        return try await lookup.details(id)
    }

    func recipients(of query: RecipientQuery) async throws -> RecipientCounts {
        try need(.send)
        return try await hub.recipients(of: try expression(query.tags), query.format ?? .template)
    }

    private func expression(_ tags: String) throws(ProtocolError) -> TagExpression? {
        guard !tags.allSatisfy(\.isWhitespace) else { return nil }
        do {
            return try TagExpression(parsing: tags, limits: configuration.expressionLimits)
        } catch {
            throw error.protocolError
        }
    }

    private var lookup: DeliveryLookup { DeliveryLookup(hub: hub, loops: directory.loops(of: hub)) }
}

// MARK: - Reports of messages

extension HubOperations {
    /// Reports the outcome of a message, and why a device got it or not.
    ///
    /// - Throws: 400 for a device that is neither an installation's id nor a push handle; 404 for an unknown message.
    func report(on id: MessageID, device: String?) async throws -> MessageReport {
        try need(.manage)
        if let device { try Self.check(device: device) }
        return try await lookup.report(id, device: device)
    }

    /// The newest messages, each with the reason why a device got it or did not.
    func messages(explainedTo device: String, count: Int) async throws -> [MessageReport] {
        try need(.manage)
        try Self.check(device: device)
        return try await lookup.explained(to: device, min(count, DeliveryLookup.maximumListed))
    }

    private static func check(device: String) throws(ProtocolError) {
        let isName = device.utf8.count <= PushChannel.maximumLength && device.utf8.allSatisfy { $0 > 0x20 }
        guard !device.isEmpty, isName else {
            throw .badRequest("'device' must be an installation's id or a push handle; neither contains a space.")
        }
    }

    func failures(of id: MessageID, from start: String?, count: Int?) async throws -> FailedTargets {
        try need(.manage)
        try Self.check(count, named: "last", maximum: FailedTargets.maximumListed)
        let limit = count ?? FailedTargets.maximumListed
        return try await FailureLookup(hub: hub).page(id, from: start, limit: limit)
    }

    /// The figures of the hub since a time, of this node and then of the others.
    func figures(_ span: HubFigures.Span, since: Timestamp) async throws -> [NodeFigures] {
        try need(.manage)
        let records = try await hub.store.figures(hub: hub.record.id, span, since: since)
        let own = NodeFigures(node: hub.others?.name, records: records)
        guard let others = hub.others else { return [own] }
        return [own] + (await NodeRecords.figures(of: hub.record.id, span, since: since, at: others))
    }

    /// The messages with the story and the version of a sent one, in the order of the log.
    func sameVersion(as story: SentStory, near place: LogSequence) async throws -> [SentStory] {
        try need(.manage)
        return try await lookup.sameVersion(as: story, near: place)
    }

    /// The messages with the story of a sent one, in the order of the log, among those around its place.
    func sameStory(as story: SentStory, near place: LogSequence) async throws -> [(story: SentStory, at: Timestamp)] {
        try need(.manage)
        return try await lookup.sameStory(as: story, from: place)
    }

    /// A list of messages.
    func messages(_ selection: MessageSelection, count: Int?) async throws -> [MessageReport] {
        try need(.manage)
        try Self.check(count, named: "last", maximum: DeliveryLookup.maximumListed)
        let count = count ?? MessageSelection.usualCount
        return switch selection {
        case .newest: try await lookup.newest(count)
        case .before(let place): try await lookup.sent(count, before: place)
        case .scheduled: try await lookup.scheduled(count)
        }
    }
}

/// The messages of a list.
enum MessageSelection: Sendable {
    /// The number of messages of a list that names none.
    static let usualCount = 20

    /// The newest messages, after as many scheduled ones.
    case newest
    /// The newest ones before a position in the log.
    case before(LogSequence)
    case scheduled
}
