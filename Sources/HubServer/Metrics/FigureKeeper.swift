import HubProtocol
import HubRouting
import HubStore
import HubStreams
import Logging
import SQLiteFiles
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

    private struct State {
        var seen: [HubKey: Seen] = [:]
        var purgedAt: Timestamp?

        /// Notes the time of a deletion of old records if one is due; also after the clock was set back.
        mutating func isPurgeDue(at now: Timestamp) -> Bool {
            if let purgedAt, purgedAt <= now, now - purgedAt < FigureKeeper.purgeInterval { return false }
            purgedAt = now
            return true
        }
    }

    private let served: ServedHubs
    private let attempts = Attempts()
    private let state = Mutex(State())

    init(_ served: ServedHubs) { self.served = served }

    func run() async throws {
        await repeatUntilStopped(every: Self.interval) { await self.record() }
        // The last minute before a stop.
        await record()
    }

    /// Records what happened since the last record; calls must not overlap.
    func record() async {
        let hubs = served.directory.hubs
        let now = served.configuration.timestamp
        var next = state.withLock { $0 }
        let open = Set(hubs.map(\.record.id))
        next.seen = next.seen.filter { open.contains($0.key) }
        let changes = hubs.compactMap { hub in
            Self.change(of: hub, &next.seen[hub.record.id, default: Seen()]).map { (hub.record.id, $0) }
        }
        guard !changes.isEmpty else { return }
        let logBytes = Int((try? await served.store.logSize().bytes) ?? 0)
        let freeBytes = Int(DiskSpace(at: served.configuration.databasePath)?.available ?? 0)
        let isPurge = next.isPurgeDue(at: now)
        await attempts.make {
            try await served.writer.perform { transaction, _ in
                // Most of it happened in the minute that has ended.
                for (hub, change) in changes {
                    var figures = change
                    (figures.logBytes, figures.freeBytes) = (logBytes, freeBytes)
                    try transaction.add(figures, hub: hub, at: now - Self.interval)
                }
                if isPurge { try transaction.dropFigures(at: now) }
                return ((), [])
            }
            // What could not be written is part of the next record.
            state.withLock { [next] in $0 = next }
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
