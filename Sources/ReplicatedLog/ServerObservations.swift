import HubProtocol
import HubStore
import Synchronization

/// The clocks and copies of the log's servers, from their answers.
///
/// Only the leader of the log's stream answers for it, with the time at which it does so (`ts`, from NATS 2.10 on).
final class ServerObservations: Sendable {
    /// Longest time for an answer whose time is used.
    private static let maximumRoundTrip = Duration.seconds(1)
    /// Time for which the clock of a former leader counts.
    private static let memory = Duration.seconds(600)
    private static let maximumServers = 16

    private struct State {
        var clocks: [String: (time: Timestamp, at: ContinuousClock.Instant)] = [:]
        var replicas: HubOverview.Node.Replicas?
    }

    private let state = Mutex(State())

    /// Notes an answer to a request that was sent at `begin`.
    func note(_ info: StreamInfo, askedAt begin: ContinuousClock.Instant) {
        let now = ContinuousClock.now
        state.withLock { state in
            state.replicas = info.copies
            state.clocks = state.clocks.filter { now - $0.value.at < Self.memory }
            let leader = info.cluster?.leader ?? ""
            guard now - begin <= Self.maximumRoundTrip, let date = info.time.flatMap({ ISODateTime.parse($0) }),
                state.clocks[leader] != nil || state.clocks.count < Self.maximumServers
            else { return }
            state.clocks[leader] = (Timestamp(date), now)
        }
    }

    var report: LogServerReport {
        let now = ContinuousClock.now
        return state.withLock { state in
            LogServerReport(
                clocks: state.clocks.filter { now - $0.value.at < Self.memory }
                    .mapValues { $0.time + (now - $0.at) },
                replicas: state.replicas
            )
        }
    }
}

extension StreamInfo {
    /// The copies of the log on its servers.
    fileprivate var copies: HubOverview.Node.Replicas {
        // A server that was removed from the cluster is not among them.
        let missing = max(0, config.replicas - 1 - (cluster?.replicas ?? []).count)
        return .init(configured: config.replicas, late: late.sorted() + Array(repeating: "?", count: missing))
    }
}
