import Logging
import NIOCore
import ServiceLifecycle

/// Reads pages of the store for streams that are not at the end, a few at a time.
///
/// A stream asks for one page and for the next only when its output has taken that one, so a slow reader holds no
/// place here, and what waits is bounded by the number of streams.
final class ReplayService: Service {
    /// Pages that are read at once: SQLite readers are few.
    static let concurrency = 4

    private let hub: Hub
    private let requests: AsyncStream<StreamLoop.PageRequest>
    private let continuation: AsyncStream<StreamLoop.PageRequest>.Continuation

    init(hub: Hub) {
        self.hub = hub
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    func request(_ page: StreamLoop.PageRequest) {
        continuation.yield(page)
    }

    /// Reads no more: the hub was deleted.
    func stop() { continuation.finish() }

    func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                var running = 0
                for await request in requests {
                    if running == Self.concurrency {
                        await group.next()
                        running -= 1
                    }
                    running += 1
                    group.addTask { await self.serve(request) }
                }
            }
        } onGracefulShutdown: {
            self.continuation.finish()
        }
    }

    private func serve(_ request: StreamLoop.PageRequest) async {
        let session = request.session
        do {
            let page = try await hub.page(request)
            session.loop.eventLoop.execute {
                session.loop.receivePage(session, page)
            }
        } catch {
            hub.logger.error(
                "what a stream is owed cannot be read; it is ended",
                metadata: ["error.reason": "\(error)"]
            )
            session.loop.eventLoop.execute { session.loop.pageFailed(session) }
        }
    }
}
