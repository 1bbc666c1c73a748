import NIOCore
import ServiceLifecycle
import Signals

/// The receiver of a hub's heartbeat, such as a service manager that restarts a hanging hub.
package struct HubWatchdog: Sendable {
    let interval: Duration
    let beat: @Sendable () -> Void

    /// Creates a watchdog; `beat` is called every `interval`, and not while the hub hangs.
    package init(interval: Duration, beat: @escaping @Sendable () -> Void) {
        self.interval = interval
        self.beat = beat
    }
}

/// Sends the watchdog proof that the hub works.
///
/// Each beat first passes through the writer's queue and every event loop. If the writer hangs in a commit, or a loop
/// spins, the beats stop; a timer alone would not notice. A full disk does not stop them: the writer still answers, and
/// a restart would not help.
struct Liveness: Service {
    let watchdog: HubWatchdog
    let writer: HubWriter
    let eventLoops: [any EventLoop]

    func run() async throws {
        await repeatUntilStopped(every: watchdog.interval, startsNow: true) {
            await Self.pass { writer.whenReached($0) }
            for eventLoop in eventLoops { await Self.pass { eventLoop.execute($0) } }
            // A cancelled pass proves nothing.
            if !Task.isCancelled { watchdog.beat() }
        }
    }

    /// Returns when the closure given to `submit` has run, or the task is cancelled: a stop does not wait for a hanging
    /// loop.
    private static func pass(_ submit: (@escaping @Sendable () -> Void) -> Void) async {
        let passed = AsyncSignal()
        submit { passed.signal() }
        await passed.wait()
    }
}
