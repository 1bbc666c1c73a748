package import HubStore
import Synchronization

/// An ordered log that a cluster of NATS JetStream servers keeps.
///
/// The engine compares the number of the whole stream's last entry: its other comparisons are not safe.
package final class JetStreamLog: OrderedLog {
    /// Room for the headers of an entry in a message.
    private static let headerBytes = 512
    /// Maximum number of bytes of entries that are requested at once, so that no server treats a node as a slow
    /// consumer.
    private static let pageBytes = 16 << 20

    let stream: LogStream
    private let incarnation: String
    private let subject: String
    private let notifications: LogNotifications
    /// True if the log did not answer the last request.
    private let isFailing = Mutex(false)

    package let identity: LogIdentity?

    init(_ stream: LogStream, as identity: LogIdentity) throws {
        self.stream = stream
        incarnation = identity.incarnation
        let configuration = stream.configuration
        subject = configuration.subjects.entries(incarnation)
        self.identity = identity
        notifications = try LogNotifications(stream.connection, configuration, entries: subject)
    }

    package func wakeUps() -> AsyncStream<Void> { notifications.wakeUps() }

    package var serverReport: LogServerReport { stream.observations.report }

    // MARK: Appending

    package func append(_ entry: LogEntry, after place: LogPlace) throws -> LogAnswer {
        let message = EngineMessage(
            subject: subject,
            headers: [
                ("Nats-Msg-Id", "\(entry.id)"),
                // Set as a header: nats.c omits a 0 in its options, and the engine then compares nothing.
                ("Nats-Expected-Last-Sequence", "\(place.number)"),
                (LogNotifications.origin, stream.configuration.node),
            ],
            data: entry.encoded
        )
        return try persistently(stream.configuration.patience) { time in
            try attempt(message, entry, after: place, within: time)
        }
    }

    private func attempt(
        _ message: EngineMessage,
        _ entry: LogEntry,
        after place: LogPlace,
        within time: Duration
    ) throws -> LogAnswer {
        do {
            let reply = try stream.answer(to: message, within: time)
            let number: UInt64 = try EngineAnswer<Acknowledgement>.read(reply.data).number
            guard number == place.number + 1 else {
                throw ReplicatedLogError.misplaced(number: number, expected: place.number + 1)
            }
            return .accepted(number)
        } catch EngineFault.tooLarge(let limit) {
            if let answer = try answer(to: entry, after: place, within: time) { return answer }
            throw OrderedLogError.tooLarge(bytes: message.data.count, limit: limit - Self.headerBytes)
        } catch EngineFault.noResponders {
            // Throws another error if the log was deleted or started again.
            _ = try stream.state(of: incarnation, within: time)
            throw try LogStream.Unanswered(.noResponders)
        } catch let fault as EngineFault {
            throw try LogStream.Unanswered(fault)
        } catch let error as EngineError {
            let isConflict = error.isOne(of: EngineError.Number.wrongLastSequence)
            guard isConflict || error.number == EngineError.Number.duplicateInProgress else {
                throw try LogStream.refusal(error)
            }
            if let answer = try answer(to: entry, after: place, within: time) { return answer }
            throw LogStream.Unanswered("an entry waits for its acknowledgement")
        }
    }

    /// Finds the result of appending an entry in the log's content.
    ///
    /// - Returns: `nil` as long as nothing has the entry's place: the entry may still get it.
    private func answer(to entry: LogEntry, after place: LogPlace, within time: Duration) throws -> LogAnswer? {
        let number = place.number + 1
        if let found = try stream.entries(number...number, within: time).first {
            return try LogEntry(encoded: found.data).id == entry.id ? .accepted(number) : .behind(last: number)
        }
        let state = try stream.state(of: incarnation, within: time)
        // The log was truncated, which the next read reports.
        if state.last < place.number { return .behind(last: state.last) }
        if state.last >= number, state.first > number { throw OrderedLogError.outOfRetention(number: number) }
        return nil
    }

    // MARK: Reading

    package func end() throws -> UInt64 {
        notifications.announced.trust()
        do {
            let last = try persistently(stream.configuration.readingPatience) { time in
                try stream.state(of: incarnation, within: time).last
            }
            notifications.announced.note(end: last)
            return last
        } catch {
            notifications.announced.doubt()
            throw error
        }
    }

    package func announcedEnd() -> UInt64? { notifications.announced.end }

    package func read(after place: LogPlace, limit: Int) throws -> [PlacedEntry] {
        let number = place.number + 1
        let announced = notifications.announced.entries(from: number, limit: limit)
        guard announced.isEmpty else { return try announced.map(Self.placed) }
        var last = notifications.announced.last
        if last < number { last = try end() }
        guard last >= number else { return [] }
        let page = max(1, min(limit, Self.pageBytes / max(1, stream.connection.maximumPayload)))
        return try persistently(stream.configuration.readingPatience) { time in
            let numbers = number...min(last, number + UInt64(page) - 1)
            let entries = try stream.entries(numbers, within: time)
            guard entries.isEmpty else { return try entries.map(Self.placed) }
            // A replica that is not up to date has answered, or the log has no such entry.
            if let data = try stream.entryOfLeader(number, within: time) { return [try Self.placed((number, data))] }
            let state = try stream.state(of: incarnation, within: time)
            if state.last < number { return [] }
            if state.first > number { throw OrderedLogError.outOfRetention(number: number) }
            throw ReplicatedLogError.missing(number: number)
        }
    }

    private static func placed(_ stored: (number: UInt64, data: [UInt8])) throws(LogEntryError) -> PlacedEntry {
        PlacedEntry(number: stored.number, entry: try LogEntry(encoded: stored.data))
    }

    // MARK: Patience

    /// Repeats an attempt until it has a result or the log's time has expired; blocks.
    ///
    /// - Throws: The error of the attempt; ``ReplicatedLogError/noAnswer(seconds:reason:)`` instead of
    ///   ``LogStream/Unanswered``.
    private func persistently<Output>(
        _ patience: Duration,
        _ attempt: (_ rest: Duration) throws -> Output
    ) throws -> Output {
        // After a failure one attempt is enough: everything that waits for the database's thread waits as long.
        let patience = isFailing.withLock { $0 } ? min(patience, LogStream.answerTime) : patience
        do {
            let output = try stream.persistently(patience, attempt)
            isFailing.withLock { $0 = false }
            return output
        } catch {
            let isTemporary = (error as? ReplicatedLogError)?.isTemporary == true
            isFailing.withLock { $0 = isTemporary }
            throw error
        }
    }
}
