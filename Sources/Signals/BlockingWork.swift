package import Dispatch

extension DispatchQueue {
    /// Runs work that may block a thread on this queue, and returns its result; the threads of tasks must not block.
    ///
    /// - Throws: The error of the work. A cancelled task also waits for its end.
    package func run<Output: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Output
    ) async throws(Failure) -> Output {
        try await withCheckedContinuation { continuation in
            async { continuation.resume(returning: Result { () throws(Failure) in try work() }) }
        }.get()
    }
}
