import HubProtocol
import HubRouting
import HubStore
import Logging
import ServiceLifecycle
import Synchronization

/// Gives messages and registry changes their one order.
///
/// Whatever waits is committed together, each change in its own savepoint; then the effects of the changes are applied to
/// the machine of the namespace, in the order of the log, and only then are they answered. The commit runs here and never
/// in a request's task: a request that is cancelled must not undo the others.
///
/// The writer alone touches the machine. Others see values that it hands out after each batch, or ask.
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

    /// What follows from a change once it is durable.
    private struct Committed: Sendable {
        let effects: [NamespaceEffect]
        let answer: @Sendable () -> Void
    }

    private enum Member: Sendable {
        case change(Change)
        /// These need no transaction, only their place in the order.
        case input(StreamInput, to: HubKey)
        case rules([AccessRule])
        case question(@Sendable (borrowing NamespaceMachine) -> Void)

        var change: Change? {
            if case .change(let change) = self { change } else { nil }
        }
    }

    /// A change that waits to be durable.
    private struct Change: Sendable {
        let bytes: Int
        let since = ContinuousClock.now
        let stage: @Sendable (Transaction, borrowing NamespaceMachine) throws -> Committed
        let fail: @Sendable (any Error) -> Void
    }

    /// The machine.
    ///
    /// `@unchecked Sendable`: it is touched by the writer's task between commits and on the database's thread during one,
    /// for which the task waits. After the task has ended nobody changes it.
    private final class Confined: @unchecked Sendable {
        var machine: NamespaceMachine

        init(_ machine: NamespaceMachine) { self.machine = machine }
    }

    /// What is not durable yet.
    struct Backlog: Sendable {
        /// That wait for the next commit.
        let changes: Int
        /// That they hold.
        let bytes: Int
        /// Inputs and questions, which wait for their place in the order only.
        let events: Int
        /// How long the oldest change has waited, zero without any.
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
    private let confined: Confined
    private let queue = Mutex(Queue())
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    /// Hands what a batch has changed to hubs and streams.
    private let carryOut: @Sendable (NamespaceMachine.Output, HubWriter) -> Void

    init(
        store: HubStore,
        machine: NamespaceMachine,
        logger: Logger,
        carryOut: @escaping @Sendable (NamespaceMachine.Output, HubWriter) -> Void
    ) {
        self.store = store
        self.logger = logger
        self.carryOut = carryOut
        confined = Confined(machine)
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
    ///   - stage: Runs inside the transaction, once or more often, with the namespace as it was before the commit; what it
    ///     throws undoes this change alone and is thrown here. It returns the answer and what follows from the change.
    /// - Returns: The answer of `stage`.
    /// - Throws: What `stage` threw, or a 503 when the hub is stopping, overloaded, or cannot write its file.
    func perform<Answer: Sendable>(
        bytes: Int = 0,
        stage: @escaping @Sendable (Transaction, borrowing NamespaceMachine) throws -> (Answer, [NamespaceEffect])
    ) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            let change = Change(
                bytes: bytes,
                stage: { transaction, machine in
                    let (answer, effects) = try stage(transaction, machine)
                    return Committed(effects: effects, answer: { continuation.resume(returning: answer) })
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

    /// The same for a change of one hub.
    ///
    /// - Throws: Also 404 when the hub was deleted.
    func perform<Answer: Sendable>(
        on hub: HubRecord,
        bytes: Int = 0,
        stage: @escaping @Sendable (Transaction, borrowing HubView) throws -> (Answer, [HubEffect])
    ) async throws -> Answer {
        try await perform(bytes: bytes) { transaction, machine in
            guard let view = machine.view(of: hub.id) else { throw ProtocolError.noHub(hub.name.text) }
            let (answer, effects) = try stage(transaction, view)
            return (answer, effects.map { .hub(hub.id, $0) })
        }
    }

    /// Asks about a hub in the order of the log.
    ///
    /// - Throws: 404 when the hub was deleted.
    func ask<Answer: Sendable>(
        _ hub: HubRecord,
        _ question: @escaping @Sendable (borrowing HubView) -> Answer
    ) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            post(
                .question { machine in
                    guard let view = machine.view(of: hub.id) else {
                        return continuation.resume(throwing: ProtocolError.noHub(hub.name.text))
                    }
                    continuation.resume(returning: question(view))
                }
            )
        }
    }

    /// Hands an event of a hub's streams to its machine, in the order of the log.
    func post(_ input: StreamInput, to hub: HubKey) { post(.input(input, to: hub)) }

    /// Takes over rules of the namespace that another process has written.
    func observe(namespaceRules: [AccessRule]) { post(.rules(namespaceRules)) }

    /// Returns when all that was posted before has been handed out.
    func passInOrder() async {
        await withCheckedContinuation { continuation in whenReached { continuation.resume() } }
    }

    /// Calls `body` when all that was posted before has been handed out.
    func whenReached(_ body: @escaping @Sendable () -> Void) { post(.question { _ in body() }) }

    private func post(_ member: Member) {
        let isTaken = queue.withLock { queue in
            if !queue.hasEnded { queue.members.append(member) }
            return !queue.hasEnded
        }
        if isTaken {
            wake.yield()
        } else if case .question(let question) = member {
            question(confined.machine)
        }
    }

    private func enqueue(_ change: Change) -> ProtocolError? {
        queue.withLock { queue in
            if queue.isClosed { return .stopping }
            guard queue.changes < Self.maximumWaitingChanges, queue.bytes + change.bytes <= Self.maximumWaitingBytes
            else {
                return .unavailable("The hub has more to write than it can; try again shortly.")
            }
            queue.members.append(.change(change))
            queue.changes += 1
            queue.bytes += change.bytes
            return nil
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
            while let batch = take() { finish(batch, Self.refuseAll(batch, .stopping)) }
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
        let confined = confined
        do {
            let results = try await store.commit(
                stages.map { stage in { @Sendable transaction in try stage(transaction, confined.machine) } },
                effects: \.effects,
                foreign: { effects in for effect in effects { confined.machine.apply(effect) } }
            )
            noteHealth(nil)
            finish(batch, results)
        } catch is CancellationError {
            // A stop that took too long: the file is not at fault.
            finish(batch, Self.refuseAll(batch, .stopping))
        } catch {
            noteHealth(error)
            let refusal = ProtocolError.unavailable("The hub cannot write its file: \(Self.reason(error)).")
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
            case .input(let input, let hub): confined.machine.apply(input, to: hub)
            case .rules(let rules): confined.machine.observe(rules)
            case .question(let question):
                // Whoever asks may ask the streams next.
                carryOut(confined.machine.takeOutput(), self)
                question(confined.machine)
            case .change(let change):
                switch remaining.popFirst() {
                case .success(let committed):
                    for effect in committed.effects { confined.machine.apply(effect) }
                    answers.append(committed.answer)
                case .failure(let error): answers.append { change.fail(error) }
                case nil: answers.append { change.fail(ProtocolError.unavailable("The change was not written.")) }
                }
            }
        }
        carryOut(confined.machine.takeOutput(), self)
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
        StorageFailure(error)?.reason ?? "\(error)"
    }
}

extension ProtocolError {
    /// `name` is as the client wrote it.
    static func noHub(_ name: String) -> ProtocolError {
        .notFound("There is no hub named '\(String(name.prefix(HubName.maximumLength)).excerpt)' here.")
    }

    /// `pathSegment` is as it was sent.
    static func noHub(pathSegment: String) -> ProtocolError {
        .noHub(PercentEncoding.decode(pathSegment) ?? pathSegment)
    }
}
