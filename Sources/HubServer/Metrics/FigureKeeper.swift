import HubProtocol
import HubRouting
import HubStore
import HubStreams
import Logging
import ServiceLifecycle
import Signals
import Synchronization

/// Records once a minute what happened at each hub of this node, for the pictures of the overview.
///
/// A minute in which nothing happened or changed has no record.
final class FigureKeeper: Service {
    static let interval = Duration.seconds(60)
    /// Time between two deletions of old records.
    private static let purgeInterval = Duration.seconds(3_600)

    private struct Seen {
        var accepted = 0
        var written = 0
        var outcomes: [String: Int] = [:]
        /// The last record, for its state.
        var last: HubFigures?
    }

    private let served: ServedHubs
    private let attempts = Attempts()
    private let seen = Mutex<[HubKey: Seen]>([:])
    private let purgedAt = Mutex<Timestamp?>(nil)

    init(_ served: ServedHubs) { self.served = served }

    func run() async throws {
        await repeatUntilStopped(every: Self.interval) { await self.record() }
        // The last minute before a stop.
        await record()
    }

    /// Records what happened since the last call; figures that cannot be written are lost.
    func record() async {
        let hubs = served.directory.hubs
        let changes = seen.withLock { seen -> [(HubKey, HubFigures)] in
            let known = Set(hubs.map(\.record.id))
            seen = seen.filter { known.contains($0.key) }
            return hubs.compactMap { hub in
                Self.change(of: hub, &seen[hub.record.id, default: Seen()]).map { (hub.record.id, $0) }
            }
        }
        guard !changes.isEmpty else { return }
        let now = served.configuration.timestamp
        let isPurge = purgedAt.withLock { purged in
            if let last = purged, now - last < Self.purgeInterval, last <= now { return false }
            purged = now
            return true
        }
        await attempts.make {
            try await served.writer.perform { transaction, _ in
                // Most of it happened in the minute that has ended.
                for (hub, figures) in changes { try transaction.add(figures, hub: hub, at: now - Self.interval) }
                if isPurge { try transaction.dropFigures(at: now) }
                return ((), [])
            }
        } report: { error in
            served.logger.warning("cannot record figures; trying again", metadata: ["error.reason": "\(error)"])
        }
    }

    /// Returns what happened at a hub since `seen`; `nil` if that is nothing.
    private static func change(of hub: Hub, _ seen: inout Seen) -> HubFigures? {
        let (counters, status) = (hub.counters, hub.status)
        var outcomes: [String: Int] = [:]
        for (kind, count) in counters.push.all { outcomes[kind.outcome.rawValue, default: 0] += count }
        var figures = HubFigures()
        let (accepted, written) = (counters.accepted.count, counters.streams.written.count)
        figures.accepted = accepted - seen.accepted
        figures.written = written - seen.written
        figures.outcomes = outcomes.merging(seen.outcomes, uniquingKeysWith: -).filter { $0.value > 0 }
        figures.registrations = status.registrationCounts.reduce(into: [:]) { $0["\($1.key)"] = $1.value }
        figures.streams = status.streamCount
        let isSame = seen.last?.registrations == figures.registrations && seen.last?.streams == figures.streams
        guard !figures.isIdle || !isSame else { return nil }
        seen = Seen(accepted: accepted, written: written, outcomes: outcomes, last: figures)
        return figures
    }
}
