import ServiceLifecycle

/// Repeats work at an interval, counted from the end of one run to the beginning of the next: for a `Service` that checks
/// or cleans up.
///
/// Bound: one run at a time.
///
/// Cancellation: ends when the services of the process stop, or the task is cancelled. Both cancel the work that runs, and
/// the return waits for its end.
///
/// - Parameters:
///   - interval: Time before each run.
///   - startsNow: True to begin with a run, false to begin with a wait.
///   - work: One run.
package func repeatUntilStopped(
    every interval: Duration,
    startsNow: Bool = false,
    _ work: @escaping @Sendable () async -> Void
) async {
    await cancelWhenGracefulShutdown {
        if startsNow { await work() }
        while (try? await Task.sleep(for: interval)) != nil { await work() }
    }
}
