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

        func adding(_ change: HubFigures) -> Seen {
            Seen(
                accepted: accepted + change.accepted,
                written: written + change.written,
                outcomes: outcomes.merging(change.outcomes, uniquingKeysWith: +),
                last: change
            )
        }
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
        let freeBytes = Int(DiskSpace(at: served.configuration.databasePath)?.available ?? 0)
        var taken: [(hub: Hub, times: DeliveryTimes.Taken)] = []
        var changes: [(HubKey, HubFigures)] = []
        for hub in hubs {
            let times = hub.counters.times.take()
            taken.append((hub, times))
            let seen = next.seen[hub.record.id] ?? Seen()
            guard let change = Self.change(of: hub, since: seen, times, freeBytes: freeBytes) else { continue }
            next.seen[hub.record.id] = seen.adding(change)
            changes.append((hub.record.id, change))
        }
        guard !changes.isEmpty else { return }
        let logBytes = Int((try? await served.store.logSize().bytes) ?? 0)
        let isPurge = next.isPurgeDue(at: now)
        let (records, times) = (changes, taken)
        var isWritten = false
        await attempts.make {
            try await served.writer.perform { transaction, _ in
                // Most of it happened in the minute that has ended.
                for (hub, change) in records {
                    var figures = change
                    figures.logBytes = logBytes
                    try transaction.add(figures, hub: hub, at: now - Self.interval)
                }
                for (_, times) in times { try transaction.add(times.streams) }
                if isPurge { try transaction.dropFigures(at: now) }
                return ((), [])
            }
            // What could not be written is part of the next record.
            state.withLock { [next] in $0 = next }
            isWritten = true
        } report: { error in
            served.logger.warning("cannot record figures; trying again", metadata: ["error.reason": "\(error)"])
        }
        if !isWritten { for (hub, times) in times { hub.counters.times.putBack(times) } }
    }

    /// Returns what happened at a hub since `seen`; `nil` if that is nothing.
    private static func change(
        of hub: Hub,
        since seen: Seen,
        _ times: DeliveryTimes.Taken,
        freeBytes: Int
    ) -> HubFigures? {
        let (counters, status) = (hub.counters, hub.status)
        var outcomes: [String: Int] = [:]
        for (kind, count) in counters.push.all { outcomes[kind.outcome.rawValue, default: 0] += count }
        var figures = HubFigures()
        let (accepted, written) = (counters.accepted.count, counters.streams.written.count)
        figures.accepted = accepted - seen.accepted
        figures.written = written - seen.written
        figures.outcomes = outcomes.merging(seen.outcomes, uniquingKeysWith: -).filter { $0.value > 0 }
        figures.times = times.all
        figures.freeBytes = freeBytes
        figures.registrations = status.registrationCounts.reduce(into: [:]) { $0["\($1.key)"] = $1.value }
        figures.streams = status.streamCount
        guard !figures.isIdle || !isSame(figures, as: seen.last) else { return nil }
        return figures
    }

    /// True if nothing has changed that a picture would show; other programs also write to the disk.
    private static func isSame(_ figures: HubFigures, as last: HubFigures?) -> Bool {
        guard let last, last.registrations == figures.registrations, last.streams == figures.streams else {
            return false
        }
        return abs(figures.freeBytes - last.freeBytes) < max(last.freeBytes / diskSteps, 1)
    }

    /// The part of the free space that is a change.
    private static let diskSteps = 50
}
