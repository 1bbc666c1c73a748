import HubStreams
import Logging
import NIOCore
import ServiceLifecycle

/// Reads pages of the store for streams that lag, a few at a time.
///
/// A stream requests one page, and the next one only when its output has accepted the first, so a slow reader occupies
/// no place here. Streams with heavy templates have their own queue, whose pages are read one after the other, so that
/// they do not delay the others.
final class ReplayService: Service {
    /// Number of pages of ordinary streams that are read at once: SQLite readers are few.
    static let concurrency = 4

    private struct Request: Sendable {
        let page: StreamPageRequest
        let hub: Hub
    }

    private struct Queue {
        let requests: AsyncStream<Request>
        let continuation: AsyncStream<Request>.Continuation

        init() {
            // Bounded by the number of streams: each has at most one request.
            (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        }
    }

    private let ordinary = Queue()
    private let heavy = Queue()

    func request(_ page: StreamPageRequest, of hub: Hub) {
        (page.isHeavy ? heavy : ordinary).continuation.yield(Request(page: page, hub: hub))
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            async let others: Void = serve(heavy, atOnce: 1)
            await serve(ordinary, atOnce: Self.concurrency)
            await others
        } onGracefulShutdown: {
            self.ordinary.continuation.finish()
            self.heavy.continuation.finish()
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

    private func serve(_ request: Request) async {
        var page: StreamPage?
        do {
            page = try await request.hub.page(request.page)
        } catch {
            request.hub.logger.error(
                "cannot read the pending messages of a stream; the stream is ended",
                metadata: ["error.reason": "\(error)"]
            )
        }
        let (loop, stream) = (request.page.loop, request.page.stream)
        loop.eventLoop.execute { [page] in loop.receive(page, for: stream) }
    }
}
