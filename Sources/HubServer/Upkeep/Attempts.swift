import HubProtocol
import Synchronization

/// Something that is done or logged once, and again only after its reason has passed.
struct Once: ~Copyable, Sendable {
    private let isDone = Atomic(false)

    /// True at the first call, and at the first one after ``reset()``.
    func isFirst() -> Bool { !isDone.exchange(true, ordering: .relaxed) }

    /// Notes that the reason has passed.
    func reset() { isDone.store(false, ordering: .relaxed) }
}

/// Attempts at work that is repeated; of failures in a row only the first is reported.
final class Attempts: Sendable {
    private let failure = Once()

    /// Makes an attempt.
    ///
    /// - Parameters:
    ///   - work: The work. It need not report that another node has the duties, that the hub is stopping, or that the
    ///     writer refuses a change: the writer logs why it cannot write, or the hub was deleted.
    ///   - report: Logs a failure.
    func make(_ work: () async throws -> Void, report: (any Error) -> Void) async {
        do {
            try await work()
            failure.reset()
        } catch is LeaseLost, is ProtocolError, is CancellationError {
        } catch {
            if failure.isFirst() { report(error) }
        }
    }
}
