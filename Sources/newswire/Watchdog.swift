import HostSystem

extension ServiceNotifier {
    /// Calls `work`, and meanwhile notifies systemd's watchdog, if it watches this process.
    ///
    /// Each notification follows a successful `probe`: if the probe hangs or throws, systemd restarts the process.
    func feedingWatchdog<Output: Sendable>(
        probe: @escaping @Sendable () async throws -> Void,
        during work: () async throws -> Output
    ) async throws -> Output {
        guard let watchdogInterval else { return try await work() }
        let feeder = Task {
            while !Task.isCancelled {
                do {
                    try await probe()
                    watchdog()
                } catch {
                    // No notification; the work itself reports the error.
                }
                try? await Task.sleep(for: watchdogInterval)
            }
        }
        defer { feeder.cancel() }
        return try await work()
    }
}
