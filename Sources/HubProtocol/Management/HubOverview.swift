/// A hub at a glance: the answer to our own route `GET /{hub}/overview`.
///
/// It contains no part of a message, a device or a key. Instants are ISO 8601 in UTC.
package struct HubOverview: Sendable, Equatable, Codable {
    /// Messages on their way to a push service.
    package struct PushBacklog: Sendable, Equatable, Codable {
        package let messages: Int
        /// Number of targets without a final outcome.
        package let targets: Int

        package init(messages: Int, targets: Int) { (self.messages, self.targets) = (messages, targets) }
    }

    /// The size of the server's log, for all its hubs.
    package struct Log: Sendable, Equatable, Codable {
        package let bytes: Int64
        package let limitBytes: Int64
        /// The time of its oldest row; absent for an empty log.
        package let oldest: String?
        /// Number of messages dropped before they expired, to keep the log within its limit.
        package let droppedUnexpired: Int64

        package init(bytes: Int64, limitBytes: Int64, oldest: String?, droppedUnexpired: Int64) {
            (self.bytes, self.limitBytes) = (bytes, limitBytes)
            (self.oldest, self.droppedUnexpired) = (oldest, droppedUnexpired)
        }
    }

    /// The TLS certificate that the server presents.
    package struct Certificate: Sendable, Equatable, Codable {
        package let names: [String]
        package let expiresAt: String
        /// True if the server renews it on its own.
        package let isRenewed: Bool

        package init(names: [String], expiresAt: String, isRenewed: Bool) {
            (self.names, self.expiresAt, self.isRenewed) = (names, expiresAt, isRenewed)
        }
    }

    /// A server that shares its log with others.
    package struct Node: Sendable, Equatable, Codable {
        /// Another server, as it was when it last reported.
        package struct Peer: Sendable, Equatable, Codable {
            package let name: String
            package let version: String
            package let position: UInt64
            /// Time since its last report.
            package let seenSecondsAgo: Int
            /// Time by which its clock is ahead of the median of all clocks; absent if it is not known.
            package let clockAheadSeconds: Double?
            /// The reason why it must not have duties, as it reports itself; absent if it may.
            package let dutyObstacle: String?

            package init(
                name: String,
                version: String,
                position: UInt64,
                seenSecondsAgo: Int,
                clockAheadSeconds: Double? = nil,
                dutyObstacle: String? = nil
            ) {
                (self.name, self.version, self.position) = (name, version, position)
                (self.seenSecondsAgo, self.clockAheadSeconds) = (seenSecondsAgo, clockAheadSeconds)
                self.dutyObstacle = dutyObstacle
            }

            /// True if it has not reported for a while.
            package var isSilent: Bool { seenSecondsAgo > Node.silence }
        }

        /// The copies of the log on its servers.
        package struct Replicas: Sendable, Equatable, Codable {
            /// Number of servers that are to keep the log.
            package let configured: Int
            /// Names of the servers that lack entries or do not answer.
            package let late: [String]

            package init(configured: Int, late: [String]) { (self.configured, self.late) = (configured, late) }

            /// Number of servers that have every entry.
            package var current: Int { max(0, configured - late.count) }
            /// Number of copies that the log lacks; with fewer than ``Node/enoughReplicas`` it is also too few.
            package var missing: Int { max(configured, Node.enoughReplicas) - current }
        }

        /// Seconds without a report after which a peer is shown as absent.
        package static let silence = 10
        /// Number of copies of the log of which one can be lost.
        package static let enoughReplicas = 3

        package let name: String
        /// The number of the last entry of the log that this server has.
        package let position: UInt64
        /// The number of the log's last entry, as far as this server knows.
        package let logEnd: UInt64
        /// The server that wrote the entry at ``position``; absent if there was none since the start.
        package let writer: String?
        /// Time since the log stopped answering; absent while it answers.
        package let cutOffSeconds: Int?
        /// By name.
        package let peers: [Peer]
        /// Time by which this server's clock is ahead of the median of all clocks; absent if no other is known, or if
        /// the clocks differ and none has a majority.
        package let clockAheadSeconds: Double?
        /// The reason why this server must not have the duties that one of the servers has for all; absent if it may.
        package let dutyObstacle: String?
        /// Absent until the log's servers have answered.
        package let replicas: Replicas?

        package init(
            name: String,
            position: UInt64,
            logEnd: UInt64,
            writer: String?,
            cutOffSeconds: Int?,
            peers: [Peer],
            clockAheadSeconds: Double? = nil,
            dutyObstacle: String? = nil,
            replicas: Replicas? = nil
        ) {
            (self.name, self.position, self.logEnd) = (name, position, logEnd)
            (self.writer, self.cutOffSeconds, self.peers) = (writer, cutOffSeconds, peers)
            (self.clockAheadSeconds, self.dutyObstacle) = (clockAheadSeconds, dutyObstacle)
            self.replicas = replicas
        }
    }

    package let hub: String
    /// The version of the program.
    package var version: String?
    package let startedAt: String
    /// Number of installations by platform.
    package var installations: [String: Int] = [:]
    /// Number of registrations by platform: native ones and templates, including those of installations.
    package var registrations: [String: Int] = [:]
    package var openStreams = 0
    /// Number of messages since the start.
    package var accepted = 0
    /// Number of sends since the start that repeated an idempotency key.
    package var repeated = 0
    /// Number of messages written to streams since the start, one for each stream.
    package var written = 0
    /// Number of targets of push services with a final outcome since the start, by platform and outcome.
    package var pushOutcomes: [String: [String: Int]] = [:]
    /// The backlog by platform.
    package var pushBacklog: [String: PushBacklog] = [:]
    /// Number of messages that wait for their time.
    package var scheduled = 0
    package var nextDue: String?
    /// Number of changes of all hubs of the server that are not durable yet.
    package var waitingChanges = 0
    /// The reason why the server cannot write; absent if it can.
    package var failure: String?
    package let log: Log
    package var credentials: [CredentialReport.Credential] = []
    /// The certificate; absent for a server without TLS.
    package var certificate: Certificate?
    /// Number of active alarms by kind, including silenced ones; absent in the answer of an older hub.
    package var alarms: [String: Int]?
    /// Number of those that are silenced.
    package var silencedAlarms: Int?
    /// Absent for a server with a log of its own.
    package var node: Node?

    package init(hub: String, startedAt: String, log: Log) {
        (self.hub, self.startedAt, self.log) = (hub, startedAt, log)
    }
}
