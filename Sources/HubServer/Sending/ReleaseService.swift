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

    private struct State {
        var clock: ClockGuard
        var hasSaidWaiting = false
        var hasSaidFailure = false
    }

    private let hubs: @Sendable () -> [Hub]
    private let lease: NodeLease
    private let configuration: HubConfiguration
    private let logger: Logger
    private let state: Mutex<State>

    /// `lastSeen` is the wall clock as it was last noted before this start.
    init(
        hubs: @escaping @Sendable () -> [Hub],
        lease: NodeLease,
        configuration: HubConfiguration,
        logger: Logger,
        lastSeen: Timestamp?
    ) {
        self.hubs = hubs
        self.lease = lease
        self.configuration = configuration
        self.logger = logger
        let (wall, monotonic) = Self.read(configuration)
        let clock = ClockGuard(
            wall: wall,
            monotonic: monotonic,
            lastSeen: lastSeen,
            longestAbsence: configuration.timeToLive
        )
        state = Mutex(State(clock: clock))
    }

    func run() async throws {
        await repeatUntilStopped(every: Self.interval, startsNow: true) { await self.look() }
    }

    /// True if the wall clock can be trusted.
    var isClockSteady: Bool { lookAtClock().isSteady }

    private func lookAtClock() -> (now: Timestamp, isSteady: Bool) {
        let (now, monotonic) = Self.read(configuration)
        return (now, state.withLock { $0.clock.look(wall: now, monotonic: monotonic) == .steady })
    }

    /// Releases the messages that are due, if this node has the duties.
    func look() async {
        let (now, isSteady) = lookAtClock()
        guard let term = lease.current else { return }
        // A disabled hub sends nothing until it is enabled again.
        for hub in hubs() {
            let status = hub.status
            guard !status.isDisabled, let next = status.scheduled.nextDue, next <= now else { continue }
            guard isSteady else {
                noteWaiting()
                continue
            }
            await release(hub, at: now, term)
        }
        if isSteady { state.withLock { $0.hasSaidWaiting = false } }
    }

    private func release(_ hub: Hub, at now: Timestamp, _ term: LeaseTerm) async {
        do {
            while try await hub.scheduled.releaseDue(at: now, in: term) {}
            state.withLock { $0.hasSaidFailure = false }
        } catch is LeaseLost {
            // Another node releases them.
        } catch is CancellationError {
            // The hub is stopping.
        } catch is ProtocolError {
            // The writer has logged why it cannot write, or the hub was deleted; the next check tries again.
        } catch {
            guard isFirst(\.hasSaidFailure) else { return }
            logger.warning(
                "cannot release scheduled messages; the hub tries again",
                metadata: ["hub.name": "\(hub.record.name)", "error.reason": "\(error)"]
            )
        }
    }

    private func noteWaiting() {
        guard isFirst(\.hasSaidWaiting) else { return }
        logger.warning(
            "the clock has jumped: scheduled messages wait until it has been steady for an hour"
        )
    }

    private func isFirst(_ hasSaid: sending WritableKeyPath<State, Bool>) -> Bool {
        state.withLock { state in
            defer { state[keyPath: hasSaid] = true }
            return !state[keyPath: hasSaid]
        }
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
