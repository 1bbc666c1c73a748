import HubRouting
package import ServiceLifecycle

extension ServiceGroup {
    /// Runs the services.
    ///
    /// A cancelled task asks them to stop, as a signal would, instead of breaking them off.
    package func runStoppingWhenCancelled() async throws {
        let services = Task { try await self.run() }
        try await withTaskCancellationHandler {
            try await services.value
        } onCancel: {
            Task { await self.triggerGracefulShutdown() }
        }
    }
}

/// Ends all streams as soon as a stop is asked for: open ones would hold the server up.
struct StreamCloser: Service {
    let hubs: HubDirectory
    let writer: HubWriter
    let onStopping: @Sendable () -> Void

    func run() async throws {
        try? await gracefulShutdown()
        onStopping()
        for member in hubs.all { member.hub.writer.post(.stopping, to: member.hub.record.id) }
        // In the order of the log, so that no stream that was let in before is missed.
        await writer.passInOrder()
    }
}
