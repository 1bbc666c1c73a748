import HubRouting
package import ServiceLifecycle

extension ServiceGroup {
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
    let hubs: HubDirectory
    let writer: HubWriter
    let onStopping: @Sendable () -> Void

    func run() async throws {
        try? await gracefulShutdown()
        onStopping()
        for member in hubs.all { member.hub.writer.post(.stopping, to: member.hub.record.id) }
        // Runs in log order, so that it includes every stream accepted before.
        await writer.passInOrder()
    }
}
