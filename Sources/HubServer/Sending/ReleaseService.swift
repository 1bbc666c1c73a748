import HubProtocol
import HubRouting
import HubStore
import Logging
import ServiceLifecycle
import Signals
import Synchronization

/// Releases scheduled messages when they are due, and late ones at once.
///
/// The next due time is in memory; the store is read only when a message is due. After a jump of the clock nothing is
/// released until the clock has been steady, so that a wrong clock does not send tomorrow's messages today.
final class ReleaseService: Service {
    /// Time between two checks; messages are due at whole seconds.
    static let interval = Duration.milliseconds(200)
    /// Reading both clocks takes no longer than this unless the process stood still in between.
    private static let instant = Duration.seconds(1)

    private let directory: HubDirectory
    private let lease: NodeLease
    private let clock: Mutex<ClockGuard>
    private let attempts = Attempts()
    private let waiting = Once()

    /// `lastSeen` is the wall clock as it was last noted before this start.
    init(_ directory: HubDirectory, _ lease: NodeLease, lastSeen: Timestamp?) {
        self.directory = directory
        self.lease = lease
        let (wall, monotonic) = Self.read(directory.configuration)
        clock = Mutex(
            ClockGuard(
                wall: wall,
                monotonic: monotonic,
                lastSeen: lastSeen,
                longestAbsence: directory.configuration.timeToLive
            )
        )
    }

    func run() async throws {
        await repeatUntilStopped(every: Self.interval, startsNow: true) { await self.look() }
    }

    /// True if the wall clock can be trusted.
    var isClockSteady: Bool { lookAtClock().isSteady }

    private func lookAtClock() -> (now: Timestamp, isSteady: Bool) {
        let (now, monotonic) = Self.read(directory.configuration)
        return (now, clock.withLock { $0.look(wall: now, monotonic: monotonic) == .steady })
    }

    /// Releases the messages that are due, if this node has the duties.
    func look() async {
        let (now, isSteady) = lookAtClock()
        guard let term = lease.current else { return }
        // A disabled hub sends nothing until it is enabled again.
        for hub in directory.hubs {
            let status = hub.status
            guard !status.isDisabled, let next = status.scheduled.nextDue, next <= now else { continue }
            guard isSteady else {
                noteWaiting()
                continue
            }
            await release(hub, at: now, term)
        }
        if isSteady { waiting.reset() }
    }

    private func release(_ hub: Hub, at now: Timestamp, _ term: LeaseTerm) async {
        await attempts.make {
            while try await hub.scheduled.releaseDue(at: now, in: term) {}
        } report: { error in
            directory.logger.warning(
                "cannot release scheduled messages; the hub tries again",
                metadata: ["hub.name": "\(hub.record.name)", "error.reason": "\(error)"]
            )
        }
    }

    private func noteWaiting() {
        guard waiting.isFirst() else { return }
        directory.logger.warning(
            "the clock has jumped: scheduled messages wait until it has been steady for an hour"
        )
    }

    /// Reads both clocks at one moment: a process that was stopped between the two readings would see a jump.
    private static func read(_ configuration: HubConfiguration) -> (wall: Timestamp, monotonic: Duration) {
        var monotonic = configuration.monotonic()
        while true {
            let wall = configuration.timestamp
            let after = configuration.monotonic()
            if after - monotonic <= instant { return (wall, after) }
            monotonic = after
        }
    }
}
