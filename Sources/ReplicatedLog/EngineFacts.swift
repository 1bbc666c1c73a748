/// The state of a log's servers, for operators.
package struct EngineFacts: Sendable, Equatable {
    package struct Replica: Sendable, Equatable {
        package let server: String
        package let isCurrent: Bool
        /// Number of entries that it does not have yet.
        package let lag: UInt64
    }

    /// The server that this node is connected to.
    package let server: String
    package let cluster: String?
    /// `nil` while the servers elect one.
    package let leader: String?
    /// Number of servers that the log is configured for.
    package let replicas: Int
    /// The servers that keep it, except the leader.
    package let followers: [Replica]
    package let firstEntry: UInt64
    package let lastEntry: UInt64
    package let bytes: UInt64
    package let maximumBytes: Int64
    package let maximumAge: Duration
    /// Maximum number of bytes of a message.
    package let maximumPayload: Int

    init(_ info: StreamInfo, _ connection: EngineConnection) {
        server = connection.server
        cluster = info.cluster?.name
        leader = info.cluster?.leader.flatMap { $0.isEmpty ? nil : $0 }
        replicas = info.config.replicas
        followers = (info.cluster?.replicas ?? []).map { peer in
            Replica(server: peer.name, isCurrent: peer.isCurrent && peer.isOffline != true, lag: peer.lag ?? 0)
        }
        firstEntry = info.state.first
        lastEntry = info.state.last
        bytes = info.state.bytes
        maximumBytes = info.config.maximumBytes
        maximumAge = .nanoseconds(info.config.maximumAge)
        maximumPayload = connection.maximumPayload
    }

    /// Number of servers that have every entry.
    package var current: Int { followers.count(where: \.isCurrent) + (leader == nil && replicas > 1 ? 0 : 1) }
}

extension ReplicatedLog {
    /// Asks the servers for the log's state.
    ///
    /// They do not report whether they sync each entry to disk.
    package func facts() async throws -> EngineFacts {
        let (stream, deadline) = (log.stream, RetryDeadline(log.stream.configuration.patience))
        return try await Self.blocking {
            EngineFacts(try deadline.run { try stream.info(within: $0) }, stream.connection)
        }
    }
}
