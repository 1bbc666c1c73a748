import HubRouting
import HubStore
import ServiceLifecycle
import Signals
import Synchronization

/// Keeps a node up to date with the log that it shares with others.
///
/// A node that has not been able to follow for ``patience`` ends its streams, so that agents move to a node that
/// follows. It accepts streams again as soon as it follows.
final class LogFollowing: Service {
    /// Time for which streams stay open without the log; the engine usually elects another leader within it.
    static let patience = Duration.seconds(8)
    /// Usual time between two looks.
    static let interval = Duration.seconds(1)

    private let log: any OrderedLog
    private let others: OtherNodes
    private let writer: HubWriter
    private let directory: HubDirectory
    private let interval: Duration
    private let hasEnded = Mutex(false)

    init(log: any OrderedLog, others: OtherNodes, writer: HubWriter, directory: HubDirectory, interval: Duration) {
        self.log = log
        self.others = others
        self.writer = writer
        self.directory = directory
        self.interval = interval
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            await withTaskGroup { group in
                group.addTask { [self] in for await _ in log.wakeUps() { writer.follow() } }
                group.addTask { [self] in await repeatUntilStopped(every: interval) { self.look(at: .now) } }
            }
        }
    }

    /// Reports to other nodes, tries again if this one cannot follow, and ends streams after ``patience``.
    func look(at now: ContinuousClock.Instant) {
        others.announcePresence()
        let since = writer.health.cutOffSince
        if since != nil { writer.follow() }
        let isLong = since.map { now - $0 > Self.patience } ?? false
        let isNews = hasEnded.withLock { hasEnded in
            defer { hasEnded = isLong }
            return isLong && !hasEnded
        }
        guard isNews else { return }
        for member in directory.all { writer.post(.cutOff, to: member.hub.record.id) }
    }
}
