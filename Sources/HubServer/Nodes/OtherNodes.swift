import HubProtocol
import HubRouting
import HubStore
import Synchronization

/// The announcements that the nodes of a hub make about themselves.
///
/// Each node announces its streams, so that an installation has only one stream across all nodes, what they got, and its
/// position in the log. Announcements may be lost; an installation then has two streams until the older one breaks, and
/// what it got is known here when its node next reports on it.
final class OtherNodes: Sendable {
    private struct Peer {
        let version: String
        /// The schema of its version; 0 if it does not say.
        let schema: UInt64
        /// True if it has said that it stops.
        let hasLeft: Bool
        /// True if its version passes requests on with a ``RequestFence``.
        let fencesRequests: Bool
        /// The reason why it must not have duties.
        let dutyObstacle: String?
        let position: UInt64
        let seen: ContinuousClock.Instant

        /// True if it has reported within this time, and has not stopped since.
        func isPresent(within time: Duration) -> Bool { seen > .now - time && !hasLeft }
    }

    /// Time without a report after which a node counts as gone, if it has not said that it stops.
    ///
    /// Nodes report once a second; one that loses its log server may be silent for several.
    static let patience = Duration.seconds(15)
    /// Time without a report after which a node is forgotten.
    private static let memory = Duration.seconds(3_600)
    /// Maximum number of nodes that are remembered.
    private static let maximumPeers = 64
    /// Streams in one announcement, which must be smaller than a message may be.
    private static let reportsAtOnce = 1_000

    let name: String
    private let version: String
    let channel: any NodeChannel
    private let store: HubStore
    /// The conditions under which this node may have duties.
    let eligibility: LeaseEligibility
    private let servers: @Sendable () -> LogServerReport
    private let peers = Mutex<[String: Peer]>([:])
    /// The highest stamp that this node has assigned or seen.
    private let last = Mutex<UInt64>(0)

    /// - Parameters:
    ///   - channel: The messages between nodes.
    ///   - store: The database of this node.
    ///   - name: The name of this node.
    ///   - version: The version of this node.
    ///   - eligibility: The conditions under which this node may have duties.
    ///   - servers: The log's servers, as they last answered.
    init(
        _ channel: any NodeChannel,
        of store: HubStore,
        named name: String,
        version: String,
        eligibility: LeaseEligibility,
        servers: @escaping @Sendable () -> LogServerReport
    ) {
        self.channel = channel
        self.store = store
        self.name = name
        self.version = version
        self.eligibility = eligibility
        self.servers = servers
    }

    /// A stamp above all that this node has assigned or seen.
    ///
    /// Stamps follow the clock, so that a restarted node does not assign old ones. Clocks may differ: a node that
    /// receives a higher stamp continues from it.
    func stamp(at time: Timestamp) -> UInt64 {
        last.withLock { last in
            last = max(last + 1, UInt64(max(0, time.milliseconds)) << 16)
            return last
        }
    }

    // MARK: Streams

    /// Announces the installations that have opened a stream here.
    func announce(_ streams: [AttachedStream], of hub: HubKey) {
        var bytes = EntryWriter()
        bytes.append(NodeMessages.Kind.streams)
        bytes.append(number: UInt64(hub.rawValue))
        bytes.append(list: streams) { bytes, stream in
            bytes.append(number: UInt64(stream.ordinal.rawValue))
            bytes.append(number: stream.stamp)
        }
        channel.announce(bytes.bytes)
    }

    /// Ends the streams of installations that have one at another node.
    ///
    /// A late announcement could end a newer stream here, whatever its stamp: the channel drops it.
    func note(streams announcement: ArraySlice<UInt8>, _ writer: HubWriter, at time: Timestamp) {
        var reader = EntryReader(Array(announcement))
        guard
            let hub = try? reader.number(),
            let streams = try? reader.list({ reader throws(LogEntryError) in
                (ordinal: try reader.number(), stamp: try reader.number())
            })
        else { return }
        // A damaged number would leave no room for higher stamps.
        for stream in streams where stream.stamp <= Int64.max {
            last.withLock { $0 = max($0, stream.stamp) }
            writer.post(
                .openedElsewhere(
                    Ordinal(rawValue: Int64(truncatingIfNeeded: stream.ordinal)),
                    stamp: stream.stamp,
                    at: time
                ),
                to: HubKey(rawValue: Int64(truncatingIfNeeded: hub))
            )
        }
    }

    // MARK: Progress

    /// Announces the stored progress of streams here, so that every node can tell which messages they got.
    func announce(progress: [StreamProgress], of hub: HubKey) {
        for first in stride(from: 0, to: progress.count, by: Self.reportsAtOnce) {
            var bytes = EntryWriter()
            bytes.append(NodeMessages.Kind.progress)
            bytes.append(number: UInt64(hub.rawValue))
            bytes.append(list: Array(progress[first..<min(first + Self.reportsAtOnce, progress.count)])) {
                $0.append($1)
            }
            channel.announce(bytes.bytes)
        }
    }

    /// Notes the progress of another node's streams.
    ///
    /// A late report does no harm: reports are merged by the time of their connections, and positions only increase.
    func note(progress announcement: ArraySlice<UInt8>, _ writer: HubWriter) {
        var reader = EntryReader(Array(announcement))
        guard let hub = try? reader.number(),
            let reports = try? reader.list({ reader throws(LogEntryError) in try reader.progress() })
        else { return }
        writer.post(.progressElsewhere(reports), to: HubKey(rawValue: Int64(truncatingIfNeeded: hub)))
    }

    // MARK: Presence

    /// Announces this node's position in the log, its time, whether it stops now, and why it must not have duties.
    func announcePresence(isLeaving: Bool = false) {
        var bytes = EntryWriter()
        bytes.append(NodeMessages.Kind.presence)
        bytes.append(text: name)
        bytes.append(text: version)
        bytes.append(number: store.head.number)
        bytes.append(number: UInt64(store.schema))
        bytes.append(isLeaving ? 1 : 0)
        bytes.append(1)
        bytes.append(number: UInt64(max(0, eligibility.clocks.now.milliseconds)))
        bytes.append(text: eligibility.obstacle.map { "\($0)" } ?? "")
        channel.announce(bytes.bytes)
    }

    /// Records another node's position in the log.
    ///
    /// A late report does no harm: the node reports again within a second, or counts as present for a while longer.
    func note(presence announcement: ArraySlice<UInt8>) {
        var reader = EntryReader(Array(announcement))
        guard let node = try? reader.text(), node != name, let version = try? reader.text(),
            let position = try? reader.number()
        else { return }
        // Added later, so that earlier versions leave them out.
        let (schema, leaving) = ((try? reader.number()) ?? 0, (try? reader.byte()) ?? 0)
        let fencing = (try? reader.byte()) ?? 0
        if let time = try? reader.number() {
            eligibility.clocks.note(Timestamp(milliseconds: Int64(clamping: time)), of: node)
        }
        let obstacle = (try? reader.text()) ?? ""
        let peer = Peer(
            version: version,
            schema: schema,
            hasLeft: leaving == 1,
            fencesRequests: fencing == 1,
            dutyObstacle: obstacle.isEmpty ? nil : obstacle,
            position: position,
            seen: .now
        )
        peers.withLock { peers in
            peers = peers.filter { $0.value.seen > .now - Self.memory }
            guard peers[node] != nil || peers.count < Self.maximumPeers else { return }
            peers[node] = peer
        }
    }

    /// The nodes that have reported since a time, and not left, and whose version has an earlier schema than this one's.
    func older(since time: ContinuousClock.Instant) -> [String] {
        peers.withLock { peers in
            peers.filter { $0.value.seen >= time && !$0.value.hasLeft && $0.value.schema < store.schema }
                .map(\.key).sorted()
        }
    }

    /// True if a node is present whose version passes requests on without a ``RequestFence``.
    var hasUnfenced: Bool {
        peers.withLock { peers in
            peers.contains { $0.value.isPresent(within: Self.patience) && !$0.value.fencesRequests }
        }
    }

    /// True if a node has reported within ``patience``, and has not stopped since.
    func isServing(_ node: String) -> Bool {
        peers.withLock { $0[node]?.isPresent(within: Self.patience) } ?? false
    }

    /// True if a node has reported within ``memory``.
    func isPresent(_ node: String) -> Bool {
        peers.withLock { $0[node] }.map { $0.seen > .now - Self.memory } ?? false
    }

    /// Asks all nodes at once that are known.
    ///
    /// - Parameters:
    ///   - request: The kind of a message, and its content.
    ///   - patience: Time in which a node must answer.
    ///   - read: Reads an answer; earlier versions answer with no bytes.
    /// - Returns: The answers by node, in the order of their names; `nil` for a node that is absent, or has answered nothing
    ///   that can be read.
    func ask<Answer: Sendable>(
        _ request: [UInt8],
        _ patience: Duration,
        _ read: @escaping @Sendable ([UInt8]) -> Answer?
    ) async -> [(node: String, answer: Answer?)] {
        let silence = Duration.seconds(HubOverview.Node.silence)
        let known = peers.withLock { peers in peers.mapValues { $0.isPresent(within: silence) } }
        return await withTaskGroup { group in
            for (node, isPresent) in known {
                group.addTask { [channel] in
                    // A page must not wait for one that is known to be silent.
                    let answer =
                        isPresent
                        ? try? await channel.request(request, of: node, timeout: patience, unless: { false }) : nil
                    return (node: node, answer: answer.flatMap(read))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.node < $1.node }
        }
    }

    /// This node, and the others as they last reported.
    func report(cutOffSince: ContinuousClock.Instant?) -> HubOverview.Node {
        let state = store.logState
        let now = ContinuousClock.now
        let comparison = eligibility.clocks.compare()
        return HubOverview.Node(
            name: name,
            position: state?.head.number ?? 0,
            logEnd: state?.end ?? 0,
            writer: state?.head.node,
            cutOffSeconds: cutOffSince.map { Int((now - $0).components.seconds) },
            peers: peers.withLock { $0 }.sorted { $0.key < $1.key }.map { name, peer in
                HubOverview.Node.Peer(
                    name: name,
                    version: peer.version,
                    position: peer.position,
                    seenSecondsAgo: Int((now - peer.seen).components.seconds),
                    clockAheadSeconds: comparison.nodes[name]?.seconds,
                    dutyObstacle: peer.dutyObstacle
                )
            },
            clockAheadSeconds: comparison.own?.seconds,
            dutyObstacle: eligibility.obstacle.map { "\($0)" },
            replicas: servers().replicas
        )
    }
}

extension EntryWriter {
    fileprivate mutating func append(_ progress: StreamProgress) {
        append(number: UInt64(progress.ordinal.rawValue))
        append(number: UInt64(progress.written.rawValue))
        append(text: progress.resumedFrom ?? "")
        for time in [progress.connectedAt, progress.disconnectedAt, progress.replacedAt, progress.revokedAt] {
            append(signed: time?.milliseconds ?? 0)
        }
    }
}

extension EntryReader {
    fileprivate mutating func progress() throws(LogEntryError) -> StreamProgress {
        var progress = StreamProgress(
            ordinal: Ordinal(rawValue: try whole()),
            written: LogSequence(rawValue: try whole())
        )
        let cursor = try text()
        progress.resumedFrom = cursor.isEmpty ? nil : cursor
        progress.connectedAt = try time()
        progress.disconnectedAt = try time()
        progress.replacedAt = try time()
        progress.revokedAt = try time()
        return progress
    }

    private mutating func whole() throws(LogEntryError) -> Int64 {
        guard let number = Int64(exactly: try number()) else { throw .damaged("a number is too large") }
        return number
    }

    /// A time; `nil` for 0.
    private mutating func time() throws(LogEntryError) -> Timestamp? {
        let milliseconds = try signed()
        return milliseconds == 0 ? nil : Timestamp(milliseconds: milliseconds)
    }
}
