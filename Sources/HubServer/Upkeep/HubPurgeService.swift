import HubProtocol
import HubStore
import Logging
import ServiceLifecycle

/// Drops the rows of deleted hubs in steps, so that other hubs do not wait long; the next start continues after a stop.
final class HubPurgeService: Service {
    /// Maximum number of rows that one transaction drops.
    static let rows = 500
    /// Pause after a failure, such as a full disk.
    private static let pause = Duration.seconds(30)

    private let store: HubStore
    private let writer: HubWriter
    private let jobs: JobService
    private let configuration: HubConfiguration
    private let logger: Logger
    private let requests: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init(store: HubStore, writer: HubWriter, jobs: JobService, configuration: HubConfiguration, logger: Logger) {
        self.store = store
        self.writer = writer
        self.jobs = jobs
        self.configuration = configuration
        self.logger = logger
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
    }

    /// Looks for deleted hubs.
    func start() { continuation.yield() }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.requests {
                do {
                    try await self.purge()
                } catch is CancellationError {
                    return
                } catch {
                    // The writer logs why it cannot write.
                    self.logger.debug("rows of a deleted hub stay for now", metadata: ["error.reason": "\(error)"])
                    guard (try? await Task.sleep(for: Self.pause)) != nil else { return }
                    self.start()
                }
            }
        }
    }

    /// Drops all rows of deleted hubs.
    func purge() async throws {
        let at = configuration.timestamp
        for hub in try await store.hubsToPurge() {
            await jobs.removeFiles(of: try await store.jobs(hub: hub, limit: .max))
            var isDone = false
            while !isDone {
                try Task.checkCancellation()
                let begun = ContinuousClock.now
                isDone = try await writer.perform { transaction, _ in
                    (try transaction.purge(hub: hub, limit: Self.rows, at: at), [])
                }
                // Leaves the writer to other changes for as long.
                if !isDone { try await Task.sleep(for: .now - begun) }
            }
            logger.notice("nothing is left of a deleted hub", metadata: ["hub.id": "\(hub)"])
        }
    }
}
