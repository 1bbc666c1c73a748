import HubProtocol
import HubStore
import Synchronization

/// Compares this node's wall clock with those of the other nodes and of the log's servers.
///
/// A node with a wrong clock would release scheduled messages, and drop expired ones, at the wrong time.
final class NodeClocks: Sendable {
    enum Verdict: Sendable, Equatable {
        case agrees
        /// The clock is ahead of the median by this duration, or behind it by a negative one.
        case deviates(by: Duration)
        /// The clocks differ, and none of their times has a majority.
        case undecided
    }

    /// The clocks as one node sees them.
    struct Comparison: Sendable {
        let verdict: Verdict
        /// The deviation of this node's clock from the median; `nil` if no other clock is known, or without a majority.
        let own: Duration?
        /// The deviations of the other nodes' clocks from the median, by name; empty without a majority.
        let nodes: [String: Duration]
    }

    /// Maximum deviation from the median with which a node may have duties.
    static let tolerance = Duration.seconds(10)
    /// Time for which the clock of a node counts that does not report any more.
    private static let memory = Duration.seconds(600)
    private static let maximumNodes = 64
    /// The end of the year 9999; later times are not valid.
    private static let latest = Timestamp(milliseconds: 253_402_300_799_999)
    /// Number of reports of a node of which the fastest counts.
    ///
    /// A report that is late, or that this node reads late after a pause, makes the other clock look slow.
    private static let samples = 10

    private struct Reports {
        /// The node's wall clock minus this node's clock that never jumps, one for each report.
        var differences: [Duration]
        var heardAt: Duration

        var best: Duration { differences.max() ?? .zero }
    }

    private let wall: @Sendable () -> Timestamp
    private let monotonic: @Sendable () -> Duration
    private let servers: @Sendable () -> [String: Timestamp]
    private let nodes = Mutex<[String: Reports]>([:])

    /// - Parameters:
    ///   - wall: This node's wall clock.
    ///   - monotonic: A clock that never jumps.
    ///   - servers: The present time by the clocks of the log's servers.
    init(
        wall: @escaping @Sendable () -> Timestamp,
        monotonic: @escaping @Sendable () -> Duration,
        servers: @escaping @Sendable () -> [String: Timestamp]
    ) {
        self.wall = wall
        self.monotonic = monotonic
        self.servers = servers
    }

    /// The present time of this node, for its reports.
    var now: Timestamp { wall() }

    /// Notes the time that a node has just reported.
    func note(_ time: Timestamp, of node: String) {
        guard (Timestamp(milliseconds: 0)...Self.latest).contains(time) else { return }
        let now = monotonic()
        let difference = Duration.milliseconds(time.milliseconds) - now
        nodes.withLock { nodes in
            nodes = nodes.filter { now - $0.value.heardAt < Self.memory }
            guard nodes[node] != nil || nodes.count < Self.maximumNodes else { return }
            let former = nodes[node]?.differences ?? []
            nodes[node] = Reports(differences: Array(former.suffix(Self.samples - 1)) + [difference], heardAt: now)
        }
    }

    func compare() -> Comparison {
        let (time, monotonic) = (self.wall(), self.monotonic())
        let own = Duration.milliseconds(time.milliseconds) - monotonic
        // All clocks are relative to this node's.
        let others = self.nodes.withLock { nodes in
            nodes.filter { monotonic - $0.value.heardAt < Self.memory }.mapValues { $0.best - own }
        }
        let ofServers = self.servers().values.map { $0 - time }
        guard !others.isEmpty || !ofServers.isEmpty else {
            return Comparison(verdict: .agrees, own: nil, nodes: [:])
        }
        let ofNodes = [Duration.zero] + Array(others.values)
        // A server often runs on the machine of a node, and has its clock: without a majority the nodes decide.
        guard let median = Self.median(ofNodes + ofServers) ?? (ofNodes.count > 1 ? Self.median(ofNodes) : nil) else {
            return Comparison(verdict: .undecided, own: nil, nodes: [:])
        }
        let deviation = Duration.zero - median
        let agrees = deviation <= Self.tolerance && median <= Self.tolerance
        return Comparison(
            verdict: agrees ? .agrees : .deviates(by: deviation),
            own: deviation,
            nodes: others.mapValues { $0 - median }
        )
    }

    /// The median; `nil` if the two times in the middle differ, so that as many clocks are on one side as on the other.
    private static func median(_ times: [Duration]) -> Duration? {
        let sorted = times.sorted()
        let (lower, upper) = (sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2])
        return upper - lower <= tolerance ? (lower + upper) / 2 : nil
    }
}
