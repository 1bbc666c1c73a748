import Logging
import NIOCore
import ServiceLifecycle

/// Reads pages of the store for streams that are not at the end, a few at a time.
///
/// A stream asks for one page and for the next only when its output has taken that one, so a slow reader holds no
/// place here, and what waits is bounded by the number of streams. Streams with heavy templates have a queue of their
/// own, whose pages are read one after the other: they must not keep the others waiting.
final class ReplayService: Service {
    /// Pages of ordinary streams that are read at once: SQLite readers are few.
    static let concurrency = 4

    private struct Queue {
        let requests: AsyncStream<StreamLoop.PageRequest>
        let continuation: AsyncStream<StreamLoop.PageRequest>.Continuation

        init() {
            // One request a stream at most.
            (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        }
    }

    private let hub: Hub
    private let ordinary = Queue()
    private let heavy = Queue()

    init(hub: Hub) {
        self.hub = hub
    }

    func request(_ page: StreamLoop.PageRequest) {
        (page.isHeavy ? heavy : ordinary).continuation.yield(page)
    }

    /// Reads no more: the hub was deleted.
    func stop() {
        ordinary.continuation.finish()
        heavy.continuation.finish()
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            async let others: Void = serve(heavy, atOnce: 1)
            await serve(ordinary, atOnce: Self.concurrency)
            await others
        } onGracefulShutdown: {
            self.stop()
        }
    }

    private func serve(_ queue: Queue, atOnce concurrency: Int) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await request in queue.requests {
                if running == concurrency {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await self.serve(request) }
            }
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
                "cannot read the pending messages of a stream; the stream is ended",
                metadata: ["error.reason": "\(error)"]
            )
            session.loop.eventLoop.execute { session.loop.pageFailed(session) }
        }
    }
}
