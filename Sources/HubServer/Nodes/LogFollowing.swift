import HubRouting
import HubStore
import ServiceLifecycle

/// Keeps a node up to date with the log that it shares with others.
///
/// A node that has been cut off from the log for ``patience`` ends its streams, so that agents move to a node that gets
/// news. It accepts streams again as soon as the log answers.
struct LogFollowing: Service {
    /// Time for which streams stay open without the log: the engine elects a leader in less.
    static let patience = Duration.seconds(8)
    private static let look = Duration.seconds(1)

    let log: any OrderedLog
    let others: OtherNodes
    let writer: HubWriter
    let directory: HubDirectory

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask { for await _ in log.wakeUps() { writer.follow() } }
                group.addTask { await watch() }
            }
        }
    }

    private func watch() async {
        var hasEnded = false
        while (try? await Task.sleep(for: Self.look)) != nil {
            others.announcePresence()
            let since = writer.cutOffSince
            if since != nil { writer.follow() }
            let isLong = since.map { .now - $0 > Self.patience } ?? false
            if isLong, !hasEnded {
                for member in directory.all { writer.post(.cutOff, to: member.hub.record.id) }
            }
            hasEnded = isLong
        }
    }
}
