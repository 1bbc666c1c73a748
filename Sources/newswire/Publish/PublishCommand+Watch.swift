import FeedLists
import FeedPublisher
import Foundation
import HostSystem
import HubClient
import HubServer
import Hummingbird
import Logging
import OutboundHTTP
import ServiceLifecycle
import Settings
import Signals
import UnixSignals

extension PublishCommand {
    /// Publishes until a signal, which ends the work between two feeds or messages.
    func stay(
        _ pass: PublishPass,
        _ settings: Settings,
        _ store: PublisherStore,
        _ log: Logger,
        _ lock: FileLock
    ) async throws {
        let callback = settings.value(PublisherSettings.callback)
        let listen = settings.value(PublisherSettings.listen)
        let directory = settings.value(PublisherSettings.feeds)
        let watch = PublishWatch(pass, directory: directory, callback: callback)
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        var services: [any Service] = [
            WatchService(watch: watch, notifier: notifier, isReady: callback == nil) {
                // Its age shows others, and health checks, that passes still happen.
                if (try? watch.probe()) != nil { lock.refresh() }
                try leaveMetrics(watch.lists, store, watch.takeReport(), settings)
            }
        ]
        if let callback {
            services.append(
                WebSubServer.application(watch, host: listen.host, port: listen.port, logger: log) { port in
                    Console.notice("hubs reach port \(port) as '\(callback)'")
                    notifier?.ready()
                }
            )
        }
        var quiet = log
        quiet.logLevel = max(log.logLevel, .warning)
        var group = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: quiet
        )
        group.maximumGracefulShutdownDuration = .seconds(10)
        do {
            try await ServiceGroup(configuration: group).run()
        } catch {
            guard let refusal = HubListenError(error) else { throw error }
            throw Failure(refusal, listen: listen.host, port: listen.port, portFlag: "--listen")
        }
        notifier?.stopping()
    }
}

/// A continuously running publisher, with notifications to systemd.
private struct WatchService: Service {
    /// The interval at which metrics are written and the lock is renewed.
    private static let accountPause: Duration = .seconds(30)

    let watch: PublishWatch
    let notifier: ServiceNotifier?
    /// True if the publisher is ready once this service runs; false if the callback server must be ready first.
    let isReady: Bool
    let account: @Sendable () throws -> Void

    func run() async throws {
        // On a terminal SIGHUP means that the terminal was closed. Elsewhere it requests a reload, which must work
        // from the moment that readiness is reported.
        let hangUps = Console.isInteractive ? nil : TerminationSignals.stream([SIGHUP])
        try await cancelWhenGracefulShutdown {
            if isReady { notifier?.ready() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await feedingWatchdog { try await watch.run() } }
                group.addTask { await keepAccount() }
                group.addTask {
                    guard let hangUps else { return }
                    for await _ in hangUps { watch.reload() }
                }
                defer { group.cancelAll() }
                for try await _ in group where Task.isCancelled { return }
            }
        }
    }

    private func feedingWatchdog(_ work: () async throws -> Void) async throws {
        guard let notifier else { return try await work() }
        try await notifier.feedingWatchdog(probe: { try watch.probe() }, during: work)
    }

    private func keepAccount() async {
        await repeatUntilStopped(every: Self.accountPause, startsNow: true) {
            do {
                try account()
                if let notifier { notifier.status(try watch.status()) }
            } catch {
                // The store's error is reported by the pass.
            }
        }
    }
}
