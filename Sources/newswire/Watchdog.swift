import HostSystem

extension ServiceNotifier {
    /// Runs work and meanwhile sends beats to systemd's watchdog, if it watches this process.
    ///
    /// Each beat follows a return of `probe`, so that a probe that hangs or throws ends the beats.
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
                    // No beat; what is wrong is said where the work meets it.
                }
                try? await Task.sleep(for: watchdogInterval)
            }
        }
        defer { feeder.cancel() }
        return try await work()
    }
}
