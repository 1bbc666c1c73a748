import NIOCore
import ServiceLifecycle

/// Whom to tell that the hub works, such as a service manager that restarts one that hangs.
package struct HubWatchdog: Sendable {
    let interval: Duration
    let beat: @Sendable () -> Void

    /// `beat` is called every `interval`, and not while the hub hangs.
    package init(interval: Duration, beat: @escaping @Sendable () -> Void) {
        self.interval = interval
        self.beat = beat
    }
}

/// Feeds the watchdog with proof that the hub works.
///
/// Each beat first passes through the writer's order and every event loop. A writer that hangs in a commit, or a loop
/// that spins, so ends the beats, which a timer alone would not notice. A disk that is full does not end them: then the
/// writer answers, and a restart would help nobody.
struct Liveness: Service {
    let watchdog: HubWatchdog
    let writer: HubWriter
    let eventLoops: [any EventLoop]

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await Self.pass { writer.whenReached($0) }
                for eventLoop in eventLoops { await Self.pass { eventLoop.execute($0) } }
                if Task.isCancelled { return }
                watchdog.beat()
                try? await Task.sleep(for: watchdog.interval)
            }
        }
    }

    /// Returns when what was given to `submit` has run, or the task is cancelled: a stop does not wait for a loop that hangs.
    private static func pass(_ submit: (@escaping @Sendable () -> Void) -> Void) async {
        let (passed, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        submit { continuation.finish() }
        for await _ in passed {}
    }
}
