import Formats
import Foundation
import HubProtocol
import HubStore

/// A log's stream on its servers, reached by requests of the engine's interface; all of them block.
struct LogStream: Sendable {
    /// A leader that has heard from a majority this recently is the only one: an election takes at least 4 s.
    private static let confirmation = Duration.seconds(2)
    /// Time for one answer, after which a request is sent again: the server that has it may be gone.
    ///
    /// Together with ``confirmation`` it is not longer than an election.
    static let answerTime = Duration.seconds(2)
    /// Time within which the engine recognizes repeated entries.
    private static let duplicateWindow = Duration.seconds(120)
    private static let description = "newswire log 1, incarnation "
    /// Earlier versions do not know it either, and stop.
    private static let closedDescription = "newswire log closed by "
    private static let newerDescription = "newswire log "
    /// The node whose database the log was started again from, among the stream's metadata.
    private static let beginner = "newswire-started-again-by"

    let connection: EngineConnection
    let configuration: ReplicatedLogConfiguration
    let observations = ServerObservations()
    private let silence = ServerSilence()

    private var name: String { configuration.subjects.stream }

    /// The reason why a request has no result yet, and may be repeated.
    struct Unanswered: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        /// - Throws: ``ReplicatedLogError/closed`` for a connection that is not made again.
        init(_ fault: EngineFault) throws(ReplicatedLogError) {
            if fault == .closed { throw .closed }
            reason = "\(fault)"
        }
    }

    /// Repeats an attempt until it has a result or the time has expired; blocks.
    ///
    /// Changes to another server if the present one has no majority behind it.
    func persistently<Output>(_ time: Duration, _ attempt: (_ rest: Duration) throws -> Output) throws -> Output {
        try RetryDeadline(time).run { rest in
            let begin = ContinuousClock.now
            do {
                let output = try attempt(rest)
                silence.end()
                return output
            } catch let unanswered as Unanswered {
                if silence.isTooLong(since: begin), configuration.servers.count > 1 { connection.changeServer() }
                throw unanswered
            }
        }
    }

    // MARK: The stream

    /// The state of the log, which has at least the entries that were acknowledged before.
    ///
    /// - Throws: ``Unanswered`` if the answer is not confirmed by a majority; ``ReplicatedLogError``.
    func state(of incarnation: String, within time: Duration) throws -> StreamInfo.State {
        let begin = ContinuousClock.now
        let info = try info(within: time)
        guard try Self.incarnation(of: info.config) == incarnation else {
            throw ReplicatedLogError.restarted(stream: name)
        }
        guard Self.isConfirmed(info) else { throw Unanswered("its servers have no majority") }
        observations.note(info, askedAt: begin)
        return info.state
    }

    /// True if no other server can have become the leader.
    private static func isConfirmed(_ info: StreamInfo) -> Bool {
        // A single server has no cluster.
        guard info.config.replicas > 1, let cluster = info.cluster else { return true }
        guard cluster.leader?.isEmpty == false else { return false }
        let followers = (cluster.replicas ?? []).count { peer in
            peer.isOffline != true && .nanoseconds(peer.silence) < confirmation
        }
        return (followers + 1) * 2 > info.config.replicas
    }

    /// - Throws: ``Unanswered``, or ``ReplicatedLogError``.
    func info(within time: Duration) throws -> StreamInfo { try request("STREAM.INFO.\(name)", [], within: time) }

    /// Finds the stream, or creates it.
    ///
    /// - Throws: ``Unanswered``, or ``ReplicatedLogError``.
    func open(within time: Duration) throws -> LogIdentity {
        do {
            return try identity(of: info(within: time).config)
        } catch ReplicatedLogError.removed {
            return try create(within: time)
        }
    }

    private func identity(of stream: StreamConfiguration) throws(ReplicatedLogError) -> LogIdentity {
        LogIdentity(
            node: configuration.node,
            incarnation: try Self.incarnation(of: stream),
            beginner: stream.metadata?[Self.beginner]
        )
    }

    /// Deletes the stream, if there is one, and creates it again for this node's database.
    ///
    /// - Returns: The new log's incarnation.
    /// - Throws: ``Unanswered``, or ``ReplicatedLogError``.
    func createAgain(within time: Duration) throws -> String {
        struct Deleted: Decodable {}
        do {
            do {
                _ = try Self.incarnation(of: info(within: time).config)
            } catch ReplicatedLogError.closedLog {
                // Nobody uses it any more.
            }
            let _: Deleted = try request("STREAM.DELETE.\(name)", [], within: time)
        } catch ReplicatedLogError.removed {
            // It is already gone.
        }
        return try create(within: time, metadata: [Self.beginner: configuration.node]).incarnation
    }

    /// Ends the log: it accepts no more entries, and the nodes that follow it stop.
    ///
    /// - Parameters:
    ///   - incarnation: The log that is expected.
    ///   - position: The number of the last entry that the node has; the log stays open if it has more.
    ///   - time: The time for each answer.
    /// - Throws: ``Unanswered``, or ``ReplicatedLogError``.
    func close(_ incarnation: String, at position: UInt64, within time: Duration) throws {
        var stream = try info(within: time).config
        do {
            guard try Self.incarnation(of: stream) == incarnation else {
                throw ReplicatedLogError.restarted(stream: name)
            }
        } catch ReplicatedLogError.closedLog(_, configuration.node) {
            // An attempt whose answer was lost.
        }
        stream.description = Self.closedDescription + configuration.node
        // An entry that is on its way is refused.
        stream.subjects = [configuration.subjects.closed(incarnation)]
        stream.republish = nil
        try update(stream, within: time)
        let last = try info(within: time).state.last
        guard last > position else { return }
        stream.description = Self.description + incarnation
        stream.subjects = [configuration.subjects.entries(incarnation)]
        stream.republish = republish(incarnation)
        try update(stream, within: time)
        throw ReplicatedLogError.ahead(number: last, position: position)
    }

    private func republish(_ incarnation: String) -> StreamConfiguration.Republish {
        let subjects = configuration.subjects
        return .init(src: subjects.entries(incarnation), dest: subjects.stored, headersOnly: nil)
    }

    private func update(_ stream: StreamConfiguration, within time: Duration) throws {
        let _: StreamInfo = try request(
            "STREAM.UPDATE.\(name)",
            Array(try JSONEncoder.sorted.encode(stream)),
            within: time
        )
    }

    private func create(within time: Duration, metadata: [String: String]? = nil) throws -> LogIdentity {
        let incarnation = Hexadecimal.encode(RandomBytes.make(count: 16))
        let subjects = configuration.subjects
        let stream = StreamConfiguration(
            name: name,
            description: Self.description + incarnation,
            subjects: [subjects.entries(incarnation)],
            retention: "limits",
            storage: "file",
            discard: "old",
            replicas: configuration.replicas,
            maximumBytes: configuration.maximumBytes,
            maximumAge: configuration.maximumAge.nanoseconds,
            duplicateWindow: min(Self.duplicateWindow, configuration.maximumAge).nanoseconds,
            deniesDelete: true,
            deniesPurge: true,
            allowsDirect: true,
            republish: republish(incarnation),
            metadata: metadata
        )
        do {
            let made: StreamInfo = try request(
                "STREAM.CREATE.\(name)",
                Array(try JSONEncoder.sorted.encode(stream)),
                within: time
            )
            return try identity(of: made.config)
        } catch ReplicatedLogError.engine(let error) where error.number == EngineError.Number.exists {
            // Another node was first.
            throw Unanswered("another node creates it")
        }
    }

    /// The incarnation, given by the node that created the log.
    static func incarnation(of stream: StreamConfiguration) throws(ReplicatedLogError) -> String {
        let description = stream.description ?? ""
        guard description.hasPrefix(Self.description) else {
            if description.hasPrefix(closedDescription) {
                let node = String(description.dropFirst(closedDescription.count))
                throw .closedLog(stream: stream.name, node: node)
            }
            if description.hasPrefix(newerDescription) { throw .newerLog(stream: stream.name) }
            throw .notALog(stream: stream.name)
        }
        return String(description.dropFirst(Self.description.count))
    }

    // MARK: Entries

    /// The entries with these numbers, up to the first that the answering replicas do not have.
    func entries(_ numbers: ClosedRange<UInt64>, within time: Duration) throws -> [(number: UInt64, data: [UInt8])] {
        let requests = numbers.map { number in
            EngineMessage(subject: "$JS.API.DIRECT.GET.\(name)", data: Self.query(number))
        }
        var entries: [(UInt64, [UInt8])] = []
        for (number, answer) in zip(numbers, connection.answers(to: requests, within: min(time, Self.answerTime))) {
            switch answer {
            case .success(let message):
                guard message.header("Nats-Sequence") == "\(number)" else { return entries }
                entries.append((number, message.data))
            case .failure(let fault):
                guard entries.isEmpty else { return entries }
                throw try Unanswered(fault)
            }
        }
        return entries
    }

    /// The entry with this number, as the leader has it; `nil` if it has none.
    func entryOfLeader(_ number: UInt64, within time: Duration) throws -> [UInt8]? {
        struct Found: Decodable {
            struct Message: Decodable {
                let data: Data?
            }
            let message: Message
        }
        do {
            let found: Found = try request("STREAM.MSG.GET.\(name)", Self.query(number), within: time)
            return Array(found.message.data ?? Data())
        } catch ReplicatedLogError.engine(let error) where error.number == EngineError.Number.noMessage {
            return nil
        }
    }

    private static func query(_ number: UInt64) -> [UInt8] { (["seq": JSONText(number)] as JSONText).bytes }

    // MARK: Requests

    func answer(to message: EngineMessage, within time: Duration) throws(EngineFault) -> EngineMessage {
        try connection.answer(to: message, within: min(time, Self.answerTime))
    }

    private func request<Document: Decodable>(
        _ name: String,
        _ data: [UInt8],
        within time: Duration
    ) throws -> Document {
        let message = EngineMessage(subject: "$JS.API.\(name)", data: data)
        do {
            return try EngineAnswer.read(answer(to: message, within: time).data)
        } catch let fault as EngineFault {
            throw try Unanswered(fault)
        } catch let error as EngineError {
            throw error.number == EngineError.Number.noStream
                ? ReplicatedLogError.removed(stream: self.name) : try Self.refusal(error)
        }
    }

    /// - Throws: ``Unanswered`` if the error is temporary.
    static func refusal(_ error: EngineError) throws(Unanswered) -> ReplicatedLogError {
        if error.isTemporary { throw Unanswered(error.reason) }
        return .engine(error)
    }
}

extension Duration {
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
