package import Dispatch

extension DispatchQueue {
    /// Runs work that may block a thread on this queue, and returns its result; the threads of tasks must not block.
    ///
    /// Bound: none; a serial queue runs one piece of work at a time, and others wait.
    ///
    /// Cancellation: a cancelled task also waits for the end of the work.
    ///
    /// - Throws: The error of the work.
    package func run<Output: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Output
    ) async throws(Failure) -> Output {
        try await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Result { () throws(Failure) in try work() }) }
        }.get()
    }
}
