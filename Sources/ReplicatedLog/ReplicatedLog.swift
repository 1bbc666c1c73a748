import Dispatch
import Glibc
import HostSystem
import HubStore
package import Logging
import Signals

/// A node's connection to the log that the nodes of a hub share, and to the other nodes.
package final class ReplicatedLog: Sendable {
    package let log: JetStreamLog
    package let channel: NatsChannel
    private let connection: EngineConnection
    private let presence: NodePresence

    /// Joins the log, which the first node creates.
    ///
    /// - Throws: ``ReplicatedLogError``.
    package static func connect(
        _ configuration: ReplicatedLogConfiguration,
        logger: Logger
    ) async throws -> ReplicatedLog {
        try await blocking { try ReplicatedLog(configuration, logger) }
    }

    private init(_ configuration: ReplicatedLogConfiguration, _ logger: Logger) throws {
        let problems = configuration.problems
        guard problems.isEmpty else { throw ReplicatedLogError.misconfigured(problems) }
        let deadline = RetryDeadline(configuration.startPatience)
        connection = try deadline.run { _ in
            do {
                return try EngineConnection(configuration, logger)
            } catch ReplicatedLogError.unreachable(let reason) {
                throw LogStream.Unanswered(reason)
            }
        }
        do {
            presence = try NodePresence(connection, configuration)
            let stream = LogStream(connection: connection, configuration: configuration)
            log = try JetStreamLog(
                stream,
                as: try stream.persistently(configuration.startPatience) { try stream.open(within: $0) }
            )
            channel = NatsChannel(connection, configuration, logger)
        } catch {
            connection.close()
            throw (error as? EngineFault).map(ReplicatedLogError.init) ?? error
        }
    }

    /// Deletes the log, and begins another one of the same name; no node may be using it.
    ///
    /// - Returns: The new log's incarnation.
    /// - Throws: ``ReplicatedLogError``.
    package static func beginAgain(
        _ configuration: ReplicatedLogConfiguration,
        logger: Logger
    ) async throws -> String {
        try await blocking {
            let problems = configuration.problems
            guard problems.isEmpty else { throw ReplicatedLogError.misconfigured(problems) }
            let connection = try EngineConnection(configuration, logger)
            defer { connection.close() }
            let stream = LogStream(connection: connection, configuration: configuration)
            return try stream.persistently(configuration.startPatience) { try stream.createAgain(within: $0) }
        }
    }

    /// Ends the log for all nodes, because this node leaves it with its database.
    ///
    /// - Parameter position: The number of the last entry that the database has.
    /// - Throws: ``ReplicatedLogError``; ``ReplicatedLogError/ahead(number:position:)`` if other nodes have written more.
    package func end(at position: UInt64) async throws {
        try await Self.blocking { [log] in
            let stream = log.stream
            try stream.persistently(stream.configuration.patience) { time in
                try stream.close(log.identity?.incarnation ?? "", at: position, within: time)
            }
        }
    }

    /// Leaves the log; pending requests fail.
    package func close() async {
        _ = try? await Self.blocking { [channel, connection] in
            channel.finishSending()
            connection.close()
        }
    }

    /// Runs blocking work outside the threads of tasks.
    static func blocking<Output: Sendable>(_ work: @escaping @Sendable () throws -> Output) async throws -> Output {
        try await DispatchQueue.global().run(work)
    }
}

/// Announces that a node is present, so that no other process uses its name.
private final class NodePresence: Sendable {
    /// Time within which the other process must answer.
    private static let answerTime = Duration.seconds(1)

    private let subscription: SubjectSubscription

    /// - Throws: ``ReplicatedLogError/nodeExists(node:other:)``.
    init(_ connection: EngineConnection, _ configuration: ReplicatedLogConfiguration) throws {
        let subject = configuration.subjects.presence(of: configuration.node)
        let own = Array("process \(getpid()) on '\(MachineNames.host ?? "?")'".utf8)
        // Subscribes first, so that of two processes that start at once at least one notices.
        subscription = try connection.subscribe(subject) { message in
            guard let reply = message.reply else { return }
            try? connection.publish(EngineMessage(subject: reply, data: own))
        }
        switch connection.answers(to: [EngineMessage(subject: subject)], within: Self.answerTime)[0] {
        case .success(let other):
            throw ReplicatedLogError.nodeExists(
                node: configuration.node,
                other: String(decoding: other.data.prefix(200), as: UTF8.self)
            )
        case .failure(.noResponders), .failure(.timeout): break
        case .failure(let fault): throw fault
        }
    }
}
