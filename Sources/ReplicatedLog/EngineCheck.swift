package import Foundation
import HubProtocol
import Logging
import NetworkAddresses

/// The problems of a log's servers, found without changing anything.
package struct EngineCheck: Sendable {
    /// Number of servers of which a majority survives the loss of one.
    private static let enoughReplicas = HubOverview.Node.enoughReplicas
    /// Versions: the first that can be used at all, and the first that can sync each entry.
    private static let (oldest, syncing) = ((2, 9), (2, 10))
    /// Seconds by which clocks may differ.
    private static let clockTolerance: TimeInterval = 10

    /// Problems that keep a hub from using the log.
    package private(set) var problems: [String] = []
    /// Dangers, and problems that may clear before the start.
    package private(set) var warnings: [String] = []

    private let configuration: ReplicatedLogConfiguration

    private let clock: @Sendable () -> Date

    /// Asks all servers, which takes seconds if they do not answer.
    ///
    /// - Parameters:
    ///   - configuration: The servers.
    ///   - clock: This machine's clock.
    /// - Returns: The problems and warnings.
    /// - Throws: No error of its own.
    package static func run(
        _ configuration: ReplicatedLogConfiguration,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) async throws -> EngineCheck {
        try await ReplicatedLog.blocking { EngineCheck(configuration, clock) }
    }

    private init(_ configuration: ReplicatedLogConfiguration, _ clock: @escaping @Sendable () -> Date) {
        self.configuration = configuration
        self.clock = clock
        if configuration.replicas < Self.enoughReplicas {
            problems.append(
                "'log-replicas' is \(configuration.replicas): with fewer than \(Self.enoughReplicas), the loss of a "
                    + "server loses or stops the log"
            )
        }
        let greetings = configuration.servers.compactMap { greeting(of: $0) }
        let clusters = Set(greetings.map { $0.cluster ?? "" })
        if configuration.replicas > 1, clusters.contains("") {
            problems.append("a server of the log is not in a cluster, and the log needs replicas")
        } else if clusters.count > 1 {
            let list = clusters.sorted().map { "'\($0)'" }.joined(separator: ", ")
            problems.append("the servers of the log belong to different clusters: \(list)")
        }
        if greetings.contains(where: { $0.release >= Self.syncing }) {
            warnings.append(
                "the servers of the log do not report whether they sync each entry: "
                    + "their configuration needs 'jetstream { sync_interval: always }', or a power cut loses entries"
            )
        }
        if !greetings.isEmpty { askLog() }
    }

    private mutating func greeting(of server: LogServer) -> ServerGreeting? {
        let greeting: ServerGreeting
        do throws(ServerGreeting.Problem) {
            greeting = try ServerGreeting(of: server)
        } catch {
            warnings.append("cannot reach the log's server '\(server)': \(error)")
            return nil
        }
        if greeting.release < Self.oldest {
            problems.append(
                "the log's server '\(server)' has version \(greeting.version): install 2.10 or later"
            )
        } else if greeting.release < Self.syncing {
            warnings.append(
                "the log's server '\(server)' has version \(greeting.version), which is for trials only: "
                    + "it cannot sync each entry, and 2.10 and later can"
            )
        }
        if greeting.hasJetStream != true { problems.append("the log's server '\(server)' runs without JetStream") }
        if server.usesTLS, greeting.hasTLS != true, greeting.requiresTLS != true {
            problems.append("the log's server '\(server)' has no TLS")
        }
        return greeting
    }

    /// Inspects the log, if there is one, without joining it.
    private mutating func askLog() {
        do {
            let quiet = Logger(label: "newswire.check") { _ in SwiftLogNoOpLogHandler() }
            let connection = try EngineConnection(configuration, quiet)
            defer { connection.close() }
            let stream = LogStream(connection: connection, configuration: configuration)
            let info = try RetryDeadline(LogStream.answerTime).run { try stream.info(within: $0) }
            compareClock(with: info)
            _ = try LogStream.incarnation(of: info.config)
            judge(info)
        } catch ReplicatedLogError.removed {
            // The first hub creates it.
        } catch let error as ReplicatedLogError {
            if error.isTemporary { warnings.append("\(error)") } else { problems.append("\(error)") }
        } catch {
            warnings.append("cannot inspect the log: \(error)")
        }
    }

    /// Compares this machine's clock with that of the log's leader, which servers report from 2.10 on.
    private mutating func compareClock(with info: StreamInfo) {
        guard let date = info.time.flatMap({ ISODateTime.parse($0) }) else { return }
        let ahead = clock().timeIntervalSince(date)
        guard abs(ahead) > Self.clockTolerance else { return }
        warnings.append(
            "this machine's clock is \(Int(abs(ahead))) s \(ahead < 0 ? "behind" : "ahead of") that of a server of the log: "
                + "a hub whose clock differs takes no duties"
        )
    }

    private mutating func judge(_ info: StreamInfo) {
        let (log, current) = (info.config, info.current)
        if log.replicas < Self.enoughReplicas {
            problems.append(
                "the log was created with 'log-replicas: \(log.replicas)': change that with "
                    + "'nats stream edit \(configuration.subjects.stream) --replicas \(Self.enoughReplicas)'"
            )
        }
        if log.replicas > 1, current <= log.replicas / 2 {
            warnings.append("the log has no majority: \(current) of its \(log.replicas) servers are up to date")
        } else if current < log.replicas {
            let late = info.late.map { "'\($0)'" }.joined(separator: ", ")
            warnings.append("a server of the log is not up to date: \(late)")
        }
        let age = Duration.nanoseconds(log.maximumAge)
        if log.maximumBytes != configuration.maximumBytes || age != configuration.maximumAge {
            warnings.append(
                "the log's limits were changed: its servers keep \(log.maximumBytes) bytes and "
                    + "\(age.components.seconds) s"
            )
        }
    }
}
