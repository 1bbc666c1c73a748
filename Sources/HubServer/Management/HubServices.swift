import ServiceLifecycle
import Synchronization

/// Runs what each hub needs beside the server, as hubs come and go.
final class HubServices: Service {
    private let comings: AsyncStream<ReplayService>
    private let continuation: AsyncStream<ReplayService>.Continuation

    init() {
        (comings, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    /// Starts a hub's service; it ends with ``ReplayService/stop()``, or when the server stops.
    func start(_ replay: ReplayService) { continuation.yield(replay) }

    func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for await replay in comings {
                    // Each hears of a stop by itself.
                    group.addTask { try? await replay.run() }
                }
            }
        } onGracefulShutdown: {
            self.continuation.finish()
        }
    }
}
