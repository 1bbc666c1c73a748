import HubRouting
import Logging
package import ServiceLifecycle
import UnixSignals

extension ServiceGroup {
    /// Runs the services of a server until they end.
    ///
    /// - Parameters:
    ///   - services: The services; they stop in reverse order.
    ///   - stopsOnSignals: True if SIGTERM and SIGINT request a stop.
    ///   - drain: Maximum duration of a stop.
    ///   - logger: The logger.
    ///   - close: Called after the services have ended.
    /// - Throws: ``HubListenError``, or the error of a service that failed.
    static func run(
        _ services: [any Service],
        stopsOnSignals: Bool,
        drain: Duration,
        logger: Logger,
        close: () async throws -> Void
    ) async throws {
        var group = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: stopsOnSignals ? [.sigterm, .sigint] : [],
            logger: logger.quieter
        )
        group.maximumGracefulShutdownDuration = drain
        do {
            try await ServiceGroup(configuration: group).runStoppingWhenCancelled()
        } catch {
            try await close()
            throw HubListenError(error) ?? error
        }
        try await close()
    }

    /// Runs the services until they end.
    ///
    /// If the task is cancelled, the services are asked to stop, as by a signal, instead of being cancelled.
    package func runStoppingWhenCancelled() async throws {
        let services = Task { try await self.run() }
        try await withTaskCancellationHandler {
            try await services.value
        } onCancel: {
            Task { await self.triggerGracefulShutdown() }
        }
    }
}

/// Ends all streams as soon as a stop is requested: open ones would delay the server's stop.
struct StreamCloser: Service {
    let served: ServedHubs
    let onStopping: @Sendable () -> Void

    func run() async throws {
        try? await gracefulShutdown()
        onStopping()
        for hub in served.directory.hubs { served.writer.post(.stopping, to: hub.record.id) }
        // Runs in log order, so that it includes every stream accepted before.
        await served.writer.passInOrder()
    }
}
