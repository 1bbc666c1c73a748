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
    private let served: ServedHubs
    private let cutOff = Once()

    init(_ log: any OrderedLog, _ others: OtherNodes, _ served: ServedHubs) {
        self.log = log
        self.others = others
        self.served = served
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            await withTaskGroup { group in
                group.addTask { [self] in for await _ in log.wakeUps() { served.writer.follow() } }
                group.addTask { [self] in
                    await repeatUntilStopped(every: served.configuration.presenceInterval) { self.look(at: .now) }
                }
            }
        }
    }

    /// Reports to other nodes, tries again if this one cannot follow, and ends streams after ``patience``.
    func look(at now: ContinuousClock.Instant) {
        others.announcePresence()
        let since = served.writer.health.cutOffSince
        if since != nil { served.writer.follow() }
        guard since.map({ now - $0 > Self.patience }) ?? false else { return cutOff.reset() }
        guard cutOff.isFirst() else { return }
        for hub in served.directory.hubs { served.writer.post(.cutOff, to: hub.record.id) }
    }
}
