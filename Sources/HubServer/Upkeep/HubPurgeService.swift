import HubProtocol
import HubStore
import Logging
import ServiceLifecycle
import Signals

/// Drops the rows of deleted hubs in small transactions, so that the changes of other hubs do not wait long.
///
/// After a stop, the next start continues.
struct HubPurgeService: Service {
    /// Maximum number of rows that one transaction drops.
    static let rows = 500
    /// Pause after a failure, such as a full disk.
    private static let pause = Duration.seconds(30)
    /// Time after which deleted hubs are looked for although no deletion was signalled.
    private static let interval = Duration.seconds(3_600)

    let served: ServedHubs
    let jobs: JobService

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                var rest = Self.interval
                do {
                    try await purge()
                } catch is CancellationError {
                    return
                } catch is LeaseLost {
                    // The node that has taken over continues.
                } catch {
                    // The writer logs why it cannot write.
                    served.logger.debug(
                        "cannot drop the rows of a deleted hub; trying again",
                        metadata: ["error.reason": "\(error)"]
                    )
                    rest = Self.pause
                }
                await served.deletions.wait(atMost: rest)
            }
        }
    }

    /// Drops all rows of deleted hubs if this node has the duties, and removes the files of this node's jobs in any case.
    func purge() async throws {
        let at = served.configuration.timestamp
        for hub in try await served.store.hubsToPurge() {
            await jobs.removeFiles(of: try await served.store.jobs(hub: hub, limit: .max))
            guard let term = served.lease.current else { continue }
            var isDone = false
            while !isDone {
                try Task.checkCancellation()
                let begun = ContinuousClock.now
                isDone = try await served.writer.perform { transaction, _ in
                    try term.check(transaction)
                    return (try transaction.purge(hub: hub, limit: Self.rows, at: at), [])
                }
                // Other changes get the writer for as long as this step had it.
                if !isDone { try await Task.sleep(for: .now - begun) }
            }
            served.logger.notice("all rows of a deleted hub were dropped", metadata: ["hub.id": "\(hub)"])
        }
    }
}
