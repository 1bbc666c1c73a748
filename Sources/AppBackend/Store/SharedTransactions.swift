import GRDB
import SQLiteFiles
import Synchronization

/// Runs the work of several requests in one transaction.
///
/// A transaction costs more than the statements of a request: a change of threads and, if something is written, a wait
/// for the disk. Work that arrives while a transaction runs shares the next transaction, so it never reads an older
/// state of the file than that of its submission.
///
/// A transaction never runs in a request's task: the cancellation of one request must not undo the work of others.
final class SharedTransactions: Sendable {
    /// The largest number of pieces of work in one transaction, which bounds how long the first request waits for the
    /// last.
    static let maximumShared = 128
    /// The largest number of waiting pieces of work; further ones are refused with 503.
    static let maximumWaiting = 10_000
    /// The number of pieces of work in a transaction from which the next transaction is delayed.
    ///
    /// A client that waits for each answer before its next request is never delayed.
    private static let crowd = 3
    /// The delay, during which further requests can arrive.
    private static let gathering = Duration.milliseconds(1)

    typealias Answer = @Sendable () -> Void
    typealias Body = @Sendable (TableTransaction) throws -> [Answer]

    private struct Work: Sendable {
        /// Returns the answer to give when the transaction is durable.
        let run: @Sendable (TableTransaction) throws -> Answer
        let fail: @Sendable (any Error) -> Void
    }

    private struct Queue {
        var waiting: [Work] = []
        var isRunning = false
    }

    private let transaction: @Sendable (@escaping Body) async throws -> [Answer]
    private let queue = Mutex(Queue())

    /// - Parameter transaction: Runs its argument in a separate transaction.
    init(_ transaction: @escaping @Sendable (@escaping Body) async throws -> [Answer]) {
        self.transaction = transaction
    }

    /// Number of pieces of work that wait for the next transaction.
    var waitingCount: Int { queue.withLock { $0.waiting.count } }

    /// Runs a piece of work in a transaction, and returns its value when the transaction is durable.
    ///
    /// An error of `body` undoes only this piece of work, unless the disk is full or fails.
    ///
    /// - Throws: Errors of `body` and of the transaction; `CancellationError` if the request was already cancelled; a
    ///   ``BackendRefusal`` with 503 if too much work waits.
    func run<Value: Sendable>(_ body: @escaping @Sendable (TableTransaction) throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            let work = Work(
                run: { db in
                    let value = try body(db)
                    return { continuation.resume(returning: value) }
                },
                fail: { continuation.resume(throwing: $0) }
            )
            switch enqueue(work) {
            case .runs: break
            case .begins: Task { await self.runAll() }
            case .isFull: work.fail(BackendRefusal.unavailable("The server is too busy.", retryAfter: .seconds(1)))
            }
        }
    }

    private enum Place { case runs, begins, isFull }

    private func enqueue(_ work: Work) -> Place {
        queue.withLock { queue in
            guard queue.waiting.count < Self.maximumWaiting else { return .isFull }
            queue.waiting.append(work)
            defer { queue.isRunning = true }
            return queue.isRunning ? .runs : .begins
        }
    }

    private func runAll() async {
        while let works = take() {
            await run(works)
            await gather(after: works.count)
        }
    }

    /// Waits until requests that were answered together can return, since a transaction costs nearly as much for one
    /// request as for many.
    private func gather(after count: Int) async {
        guard count >= Self.crowd, queue.withLock({ $0.waiting.count < count }) else { return }
        try? await Task.sleep(for: Self.gathering)
    }

    private func take() -> [Work]? {
        queue.withLock { queue in
            guard !queue.waiting.isEmpty else {
                queue.isRunning = false
                return nil
            }
            let works = Array(queue.waiting.prefix(Self.maximumShared))
            queue.waiting.removeFirst(works.count)
            return works
        }
    }

    /// Runs work in one transaction, each piece in a savepoint; pieces that fail get their errors.
    private func run(_ works: [Work]) async {
        do {
            let answers = try await transaction { db in
                try works.map { work in
                    switch try db.database.runMember({ _ in try work.run(db) }) {
                    case .success(let answer): answer
                    case .failure(let error): { work.fail(error) }
                    }
                }
            }
            for answer in answers { answer() }
        } catch {
            for work in works { work.fail(error) }
        }
    }
}
