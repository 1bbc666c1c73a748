import GRDB
import HubProtocol
import HubStore
import Logging
import SQLiteFiles
import ServiceLifecycle
import Synchronization

/// Gives messages and registry changes their one order.
///
/// Whatever waits is committed together, each change in its own savepoint; then the changes are applied to what is in
/// memory, in the order of the log, and only then are they answered. The commit runs here and never in a request's
/// task: a request that is cancelled must not undo the others.
final class HubWriter: Service {
    /// Bodies that may wait for the next commit; more is refused with 503.
    static let maximumWaitingBytes = 64 << 20
    /// Changes that may wait; more is refused with 503.
    static let maximumWaitingChanges = 20_000
    /// Changes in one commit: bounds how long the first one waits for the last.
    static let maximumBatch = 512
    /// Changes in one commit from which on there is a crowd of senders: one that waits for each answer is never delayed.
    private static let crowd = 8
    /// How long a crowd is waited for.
    private static let gathering = Duration.microseconds(500)

    /// What a change does once it is durable.
    private struct Committed: Sendable {
        let apply: @Sendable () -> Void
        let answer: @Sendable () -> Void
    }

    private enum Member: Sendable {
        case change(Change)
        /// Needs no transaction, only its place in the order.
        case event(@Sendable () -> Void)

        var change: Change? {
            if case .change(let change) = self { change } else { nil }
        }
    }

    /// A change that waits to be durable.
    private struct Change: Sendable {
        let bytes: Int
        let since = ContinuousClock.now
        let stage: @Sendable (Transaction) throws -> Committed
        let fail: @Sendable (any Error) -> Void
    }

    /// What is not durable yet.
    struct Backlog: Sendable {
        /// That wait for the next commit.
        let changes: Int
        /// That they hold.
        let bytes: Int
        /// What waits for its place in the order only.
        let events: Int
        /// How long the oldest one has waited, zero without any.
        let oldest: Duration
    }

    private struct Queue {
        var members: [Member] = []
        var changes = 0
        var bytes = 0
        /// The oldest change of the batch that is being written.
        var writingSince: ContinuousClock.Instant?
        /// No more changes are taken.
        var isClosed = false
        /// Nobody works the queue off any more.
        var hasEnded = false
    }

    private let store: HubStore
    private let logger: Logger
    private let queue = Mutex(Queue())
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// Hands what a batch has changed to the streams.
    private let batchApplied: @Sendable () -> Void

    init(store: HubStore, logger: Logger, batchApplied: @escaping @Sendable () -> Void) {
        self.store = store
        self.logger = logger
        self.batchApplied = batchApplied
        (wakeUps, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var backlog: Backlog {
        queue.withLock { queue in
            let since = queue.writingSince ?? queue.members.lazy.compactMap(\.change?.since).first
            return Backlog(
                changes: queue.changes,
                bytes: queue.bytes,
                events: queue.members.count - queue.changes,
                oldest: since.map { .now - $0 } ?? .zero
            )
        }
    }

    /// Makes a change and returns when it is durable and applied.
    ///
    /// - Parameters:
    ///   - bytes: What the change holds in memory while it waits: the size of a request's body, 0 for the hub's own work.
    ///   - stage: Runs inside the transaction; what it throws undoes this change alone and is thrown here.
    ///   - apply: Runs after the commit, in the order of the log.
    /// - Returns: What `stage` returned.
    /// - Throws: What `stage` threw, or a 503 when the hub is stopping, overloaded, or cannot write its file.
    func perform<Output: Sendable>(
        bytes: Int,
        stage: @escaping @Sendable (Transaction) throws -> Output,
        apply: @escaping @Sendable (Output) -> Void
    ) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            let change = Change(
                bytes: bytes,
                stage: { transaction in
                    let output = try stage(transaction)
                    return Committed(apply: { apply(output) }, answer: { continuation.resume(returning: output) })
                },
                fail: { continuation.resume(throwing: $0) }
            )
            if let refusal = enqueue(change) {
                continuation.resume(throwing: refusal)
            } else {
                wake.yield()
            }
        }
    }

    /// Runs something in the order of the log that needs no transaction.
    func post(_ event: @escaping @Sendable () -> Void) {
        let isTaken = queue.withLock { queue in
            if !queue.hasEnded { queue.members.append(.event(event)) }
            return !queue.hasEnded
        }
        if isTaken { wake.yield() } else { event() }
    }

    private func enqueue(_ change: Change) -> ProtocolError? {
        queue.withLock { queue in
            if queue.isClosed { return .unavailable("the hub is stopping; try again shortly") }
            guard queue.changes < Self.maximumWaitingChanges, queue.bytes + change.bytes <= Self.maximumWaitingBytes
            else {
                return .unavailable("the hub has more to write than it can; try again shortly")
            }
            queue.members.append(.change(change))
            queue.changes += 1
            queue.bytes += change.bytes
            return nil
        }
    }

    /// Runs something in the order of the log that needs no transaction, and returns when it has run.
    func inOrder(_ event: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            post {
                event()
                continuation.resume()
            }
        }
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            for await _ in wakeUps {
                while let batch = take() {
                    await write(batch)
                    await gather(after: batch.count)
                }
                if queue.withLock({ $0.isClosed && $0.members.isEmpty }) { return }
            }
        } onGracefulShutdown: {
            self.queue.withLock { $0.isClosed = true }
            self.wake.yield()
        }
        // When it was cancelled, nobody may wait for an answer that does not come.
        queue.withLock { $0.isClosed = true }
        repeat {
            while let batch = take() { finish(batch, Self.refuseAll(batch, .unavailable("the hub is stopping"))) }
        } while !end()
    }

    /// Lets those who were answered together come back before the next commit, which costs as much for one as for many.
    private func gather(after written: Int) async {
        guard written >= Self.crowd, queue.withLock({ !$0.isClosed && $0.changes < written / 2 }) else { return }
        try? await Task.sleep(for: Self.gathering)
    }

    private func end() -> Bool {
        queue.withLock { queue in
            queue.hasEnded = queue.members.isEmpty
            return queue.hasEnded
        }
    }

    private func take() -> [Member]? {
        queue.withLock { queue in
            guard !queue.members.isEmpty else { return nil }
            let batch = Array(queue.members.prefix(Self.maximumBatch))
            queue.members.removeFirst(batch.count)
            let changes = batch.compactMap(\.change)
            queue.changes -= changes.count
            queue.bytes -= changes.reduce(0) { $0 + $1.bytes }
            queue.writingSince = changes.first?.since
            return batch
        }
    }

    private func write(_ batch: [Member]) async {
        defer { queue.withLock { $0.writingSince = nil } }
        let stages = batch.compactMap(\.change?.stage)
        guard !stages.isEmpty else { return finish(batch, []) }
        do {
            let results = try await store.commit(stages)
            noteHealth(nil)
            finish(batch, results)
        } catch is CancellationError {
            // A stop that took too long: the file is not at fault.
            finish(batch, Self.refuseAll(batch, .unavailable("the hub is stopping; try again shortly")))
        } catch {
            noteHealth(error)
            let refusal = ProtocolError.unavailable("the hub cannot write its file: \(Self.reason(error))")
            finish(batch, Self.refuseAll(batch, refusal))
        }
    }

    private static func refuseAll(_ batch: [Member], _ refusal: ProtocolError) -> [Result<Committed, any Error>] {
        batch.compactMap(\.change).map { _ in .failure(refusal) }
    }

    /// Applies what was committed, hands it to the streams, and only then answers.
    ///
    /// There is one result for each change of the batch, in order.
    private func finish(_ batch: [Member], _ results: [Result<Committed, any Error>]) {
        var remaining = results[...]
        var answers: [@Sendable () -> Void] = []
        for member in batch {
            switch member {
            case .event(let event): event()
            case .change(let change):
                switch remaining.popFirst() {
                case .success(let committed):
                    committed.apply()
                    answers.append(committed.answer)
                case .failure(let error): answers.append { change.fail(error) }
                case nil: answers.append { change.fail(ProtocolError.unavailable("the change was not written")) }
                }
            }
        }
        batchApplied()
        for answer in answers { answer() }
    }

    // MARK: - Health

    private let failure = Mutex<String?>(nil)

    /// Why the last commit failed, `nil` while commits succeed.
    var failureReason: String? { failure.withLock { $0 } }

    private func noteHealth(_ error: (any Error)?) {
        let reason = error.map(Self.reason)
        let changed = failure.withLock { current in
            defer { current = reason }
            return current != reason
        }
        guard changed else { return }
        if let reason {
            logger.error(
                "the hub cannot write its file; senders are told to try again",
                metadata: ["error.reason": "\(reason)"]
            )
        } else {
            logger.notice("the hub writes its file again")
        }
    }

    private static func reason(_ error: any Error) -> String {
        (error as? DatabaseError)?.reason ?? "\(error)"
    }
}
