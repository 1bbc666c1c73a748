import HubProtocol
import HubRouting
import HubStore
import Logging
import SQLiteFiles
import ServiceLifecycle
import Signals
import Synchronization

/// Puts messages and registry changes into one order.
///
/// Waiting changes are committed together, each in its own savepoint. Their effects are then applied to the namespace's
/// machine in log order, and only then do the requests get their answers. All of it runs in the writer's task and
/// never in a request's, because a cancelled request must not undo the others, and in one thread: see
/// ``HubStore/writerThread``.
///
/// Only the writer uses the machine. Other code sees the values that the writer publishes after each batch, or asks it
/// a question.
final class HubWriter: Service {
    /// Maximum size of the bodies that wait for the next commit; further ones are refused with 503.
    static let maximumWaitingBytes = 64 << 20
    /// Maximum number of waiting changes; further ones are refused with 503.
    static let maximumWaitingChanges = 20_000
    /// Maximum number of changes in one commit, which bounds the wait of the first one for the last.
    static let maximumBatch = 512
    /// Number of changes in one commit that indicates a crowd of senders: a sender that waits for each answer is never
    /// delayed.
    private static let crowd = 8
    /// Limits of the time to wait for a crowd to return, and the time between two looks at who has.
    private static let gathering = (minimum: Duration.microseconds(500), maximum: Duration.milliseconds(20))
    private static let gatheringStep = Duration.microseconds(250)

    /// The consequences of a durable change.
    private struct Committed: Sendable {
        let effects: [NamespaceEffect]
        let answer: @Sendable () -> Void
    }

    private enum Member: Sendable {
        case change(Change)
        /// Events that need no transaction, only their place in the order.
        case input(StreamInput, to: HubKey)
        case rules([AccessRule])
        case question(@Sendable (borrowing NamespaceMachine) -> Void)
        /// A stream to attach, which needs everything that other nodes have written until now.
        case attachment(StreamRequest, to: HubKey)
        /// A reader that needs what other nodes have written; it gets a refusal if this node cannot follow the log.
        case reader(LogGoal, @Sendable (ProtocolError?) -> Void)

        var change: Change? {
            if case .change(let change) = self { change } else { nil }
        }

        /// The point up to which this node must have followed its log.
        var goal: LogGoal? {
            switch self {
            case .attachment: .end
            case .reader(let goal, _): goal
            case .change, .input, .rules, .question: nil
            }
        }
    }

    /// A change that waits to become durable.
    private struct Change: Sendable {
        let bytes: Int
        let since = ContinuousClock.now
        let stage: @Sendable (Transaction, borrowing NamespaceMachine) throws -> Committed
        let fail: @Sendable (any Error) -> Void
    }

    /// The machine.
    ///
    /// `@unchecked Sendable`: only the writer's task uses it, in the thread that writes. After the task has ended, nothing
    /// changes it.
    private final class Confined: @unchecked Sendable {
        var machine: NamespaceMachine

        init(_ machine: NamespaceMachine) { self.machine = machine }
    }

    /// The changes that are not durable yet.
    struct Backlog: Sendable {
        /// Number of changes that wait for the next commit.
        let changes: Int
        /// Number of bytes that they hold.
        let bytes: Int
        /// Number of inputs and questions, which wait only for their place in the order.
        let events: Int
        /// Waiting time of the oldest change; zero without any.
        let oldest: Duration
    }

    private struct Queue {
        var members: [Member] = []
        var changes = 0
        var bytes = 0
        /// The arrival of the oldest change in the batch that is being written.
        var writingSince: ContinuousClock.Instant?
        /// True if other nodes may have written.
        var mustFollow = false
        /// True if no more changes are accepted.
        var isClosed = false
        /// True if the queue is no longer processed.
        var hasEnded = false
    }

    /// Passes the results of a batch to hubs and streams, and calls `answer` as soon as requests see these results: what
    /// waits for an answer must not wait for the streams.
    typealias CarryOut = @Sendable (NamespaceMachine.Output, HubWriter, _ answer: () -> Void) -> Void

    let health: WriterHealth
    private let store: HubStore
    private let confined: Confined
    private let queue = Mutex(Queue())
    private let wakeUp = AsyncSignal()
    private let carryOut: CarryOut
    private let onProgress: @Sendable () -> Void

    /// `onProgress` is called when something has begun to wait, and when a batch has been applied.
    init(
        store: HubStore,
        machine: NamespaceMachine,
        logger: Logger,
        onProgress: @escaping @Sendable () -> Void = {},
        carryOut: @escaping CarryOut
    ) {
        self.store = store
        health = WriterHealth(logger)
        self.carryOut = carryOut
        self.onProgress = onProgress
        confined = Confined(machine)
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

    /// Makes a change, and returns when it is durable and applied.
    ///
    /// - Parameters:
    ///   - bytes: The memory that the change holds while it waits: the size of a request's body, 0 for the hub's own
    ///     work.
    ///   - stage: Runs inside the transaction, once or several times, with the namespace as it was before the commit.
    ///     If it throws, only this change is undone, and the error is thrown here. It returns the answer and the
    ///     effects of the change.
    /// - Returns: The answer of `stage`.
    /// - Throws: The error of `stage`, or a 503 if the hub is stopping, overloaded, or cannot write its file.
    func perform<Answer: Sendable>(
        bytes: Int = 0,
        stage: @escaping @Sendable (Transaction, borrowing NamespaceMachine) throws -> (Answer, [NamespaceEffect])
    ) async throws -> Answer {
        let fence = RequestFence.current
        return try await withCheckedThrowingContinuation { continuation in
            let change = Change(
                bytes: bytes,
                stage: { transaction, machine in
                    try fence?.check()
                    let (answer, effects) = try stage(transaction, machine)
                    return Committed(
                        effects: effects,
                        answer: {
                            fence?.noteExecution()
                            continuation.resume(returning: answer)
                        }
                    )
                },
                fail: { continuation.resume(throwing: $0) }
            )
            if let refusal = enqueue(change) {
                continuation.resume(throwing: refusal)
            } else {
                wakeUp.signal()
                onProgress()
            }
        }
    }

    /// Makes a change of one hub, and returns when it is durable and applied.
    ///
    /// - Throws: The errors of a change of the namespace, and 404 if the hub was deleted.
    func perform<Answer: Sendable>(
        on hub: HubRecord,
        bytes: Int = 0,
        stage: @escaping @Sendable (Transaction, borrowing HubMachine) throws -> (Answer, [any HubEffect])
    ) async throws -> Answer {
        try await perform(bytes: bytes) { transaction, machine in
            guard let view = machine[hub.id] else { throw ProtocolError.noHub(hub.name.text) }
            let (answer, effects) = try stage(transaction, view)
            return (answer, effects.map { NamespaceEffect(hub.id, $0) })
        }
    }

    /// Returns when everything that other nodes had written before the call has been applied, or all entries up to a
    /// given one.
    ///
    /// - Throws: 503 if the log does not answer.
    func catchUp(to goal: LogGoal = .end) async throws {
        guard store.incarnation != nil else { return }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            post(.reader(goal) { refusal in continuation.resume(with: refusal.map { .failure($0) } ?? .success(())) })
        }
    }

    /// Attaches a stream at its place in the log, with everything that other nodes had written before.
    func attach(_ request: StreamRequest, to hub: HubKey) {
        guard store.incarnation != nil else { return post(.attach(request), to: hub) }
        post(.attachment(request, to: hub))
    }

    /// Wakes the writer to apply what other nodes have written.
    func follow() {
        queue.withLock { $0.mustFollow = true }
        wakeUp.signal()
    }

    /// Asks about a hub in log order.
    ///
    /// - Throws: 404 if the hub was deleted.
    func ask<Answer: Sendable>(
        _ hub: HubRecord,
        _ question: @escaping @Sendable (borrowing HubMachine) -> Answer
    ) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            post(
                .question { machine in
                    guard let view = machine[hub.id] else {
                        return continuation.resume(throwing: ProtocolError.noHub(hub.name.text))
                    }
                    continuation.resume(returning: question(view))
                }
            )
        }
    }

    /// Passes an event of a hub's streams to its machine, in log order.
    func post(_ input: StreamInput, to hub: HubKey) { post(.input(input, to: hub)) }

    /// Applies namespace rules that another process has written.
    func observe(namespaceRules: [AccessRule]) { post(.rules(namespaceRules)) }

    /// Returns when everything posted before has been processed.
    func passInOrder() async {
        await withCheckedContinuation { continuation in whenReached { continuation.resume() } }
    }

    /// Calls `body` when everything posted before has been processed.
    func whenReached(_ body: @escaping @Sendable () -> Void) { post(.question { _ in body() }) }

    private func post(_ member: Member) {
        let isTaken = queue.withLock { queue in
            if !queue.hasEnded { queue.members.append(member) }
            return !queue.hasEnded
        }
        guard !isTaken else {
            wakeUp.signal()
            return onProgress()
        }
        switch member {
        case .question(let question): question(confined.machine)
        case .reader(_, let read): read(.stopping)
        case .change, .input, .rules, .attachment: break
        }
    }

    private func enqueue(_ change: Change) -> ProtocolError? {
        queue.withLock { queue in
            if queue.isClosed { return .stopping }
            guard queue.changes < Self.maximumWaitingChanges, queue.bytes + change.bytes <= Self.maximumWaitingBytes
            else {
                return .unavailable("The hub is overloaded; try again shortly.")
            }
            queue.members.append(.change(change))
            queue.changes += 1
            queue.bytes += change.bytes
            return nil
        }
    }

    func run() async throws { try await withTaskExecutorPreference(store.writerThread) { try await work() } }

    private func work() async throws {
        await withGracefulShutdownHandler {
            while true {
                await wakeUp.wait()
                if Task.isCancelled { return }
                while health.finalFailure == nil, let batch = take() {
                    let begin = ContinuousClock.now
                    await write(batch)
                    let taken = ContinuousClock.now - begin
                    // Senders that try again at once must not keep a node from following that is cut off.
                    if health.refusal != nil, takeFollowing() { await followAlone() }
                    await gather(after: batch.count { $0.change != nil }, taking: taken)
                }
                // Last, because a log that does not answer takes seconds.
                if health.finalFailure == nil, takeFollowing() { await followAlone() }
                if health.finalFailure != nil { return }
                if queue.withLock({ $0.isClosed && $0.members.isEmpty }) { return }
            }
        } onGracefulShutdown: {
            self.queue.withLock { $0.isClosed = true }
            self.wakeUp.signal()
        }
        // If the task was cancelled, no request may wait for an answer that never comes.
        queue.withLock { $0.isClosed = true }
        repeat {
            while let batch = take() { finish(batch, Self.refuseAll(batch, .stopping), .stopping) }
        } while !end()
        if let failure = health.finalFailure { throw failure }
    }

    /// Waits until senders that were answered together have returned, because a commit costs as much for one as for
    /// many.
    ///
    /// Those whose changes came during the commit wait with them: otherwise a crowd splits into two that take turns. They
    /// wait for half of the commit's time at most, within ``gathering``: nobody waits for a crowd after an election of the
    /// log's servers.
    private func gather(after written: Int, taking time: Duration) async {
        guard written >= Self.crowd, health.refusal == nil else { return }
        let end = ContinuousClock.now + min(max(Self.gathering.minimum, time / 2), Self.gathering.maximum)
        let crowd = written + queue.withLock { $0.changes }
        // Some do not return: an eighth of them is not waited for.
        while queue.withLock({ !$0.isClosed && $0.changes < min(crowd * 7 / 8, Self.maximumBatch) }), .now < end {
            guard (try? await Task.sleep(for: Self.gatheringStep)) != nil else { return }
        }
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
        if let refusal = await unreachedEnd(batch) {
            return finish(batch, Self.refuseAll(batch, refusal), refusal)
        }
        guard !stages.isEmpty else { return finish(batch, []) }
        let confined = confined
        let begin = ContinuousClock.now
        do {
            let results = try await store.commit(
                stages.map { stage in { @Sendable transaction in try stage(transaction, confined.machine) } },
                effects: \.effects,
                foreign: foreign
            )
            health.note(results.lazy.compactMap(Self.storageFailure).first, of: .file)
            finish(
                batch,
                results.map { result in
                    Self.storageFailure(result).map { .failure(WriterHealth.refusal($0, of: .file)) } ?? result
                }
            )
        } catch is CancellationError {
            // A stop took too long: the file is not the cause.
            finish(batch, Self.refuseAll(batch, .stopping))
        } catch OrderedLogError.tooLarge(let bytes, let limit) {
            await writeHalves(of: batch, bytes, limit)
        } catch {
            let part = error is OrderedLogError ? WriterHealth.Part.log : .file
            let refusal = health.note(error, of: part, since: begin) ?? .stopping
            finish(batch, Self.refuseAll(batch, refusal))
        }
    }

    /// Writes a batch in two commits, because the log does not accept it as one.
    private func writeHalves(of batch: [Member], _ bytes: Int, _ limit: Int) async {
        guard batch.count > 1 else {
            let refusal = ProtocolError.tooLarge("\(OrderedLogError.tooLarge(bytes: bytes, limit: limit))")
            return finish(batch, Self.refuseAll(batch, refusal))
        }
        let half = batch.count / 2
        await write(Array(batch[..<half]))
        await write(Array(batch[half...]))
    }

    private static func storageFailure(_ result: Result<Committed, any Error>) -> DatabaseFileError? {
        if case .failure(let error) = result { error as? DatabaseFileError } else { nil }
    }

    private static func refuseAll(_ batch: [Member], _ refusal: ProtocolError) -> [Result<Committed, any Error>] {
        batch.compactMap(\.change).map { _ in .failure(refusal) }
    }

    /// Applies the committed changes, shows them to requests, and only then answers.
    ///
    /// There is one result for each change of the batch, in order.
    private func finish(
        _ batch: [Member],
        _ results: [Result<Committed, any Error>],
        _ unreachedEnd: ProtocolError? = nil
    ) {
        var remaining = results[...]
        var answers: [@Sendable () -> Void] = []
        for member in batch {
            switch member {
            case .input(let input, let hub): confined.machine.apply(input, to: hub)
            case .rules(let rules): confined.machine.observe(rules)
            case .question(let question):
                // A client that gets its answer may use the streams next.
                carryOut(confined.machine.takeOutput(), self) {}
                question(confined.machine)
            case .reader(_, let read):
                carryOut(confined.machine.takeOutput(), self) { read(unreachedEnd) }
            case .attachment(let request, let hub):
                confined.machine.apply(unreachedEnd.map { .refused(request.id, $0) } ?? .attach(request), to: hub)
            case .change(let change):
                switch remaining.popFirst() {
                case .success(let committed):
                    for effect in committed.effects { effect.apply(to: &confined.machine) }
                    answers.append(committed.answer)
                case .failure(let error): answers.append { change.fail(error) }
                case nil: answers.append { change.fail(ProtocolError.unavailable("The change was not written.")) }
                }
            }
        }
        carryOut(confined.machine.takeOutput(), self) { for answer in answers { answer() } }
        onProgress()
    }

    // MARK: - The log that nodes share

    private var foreign: LogFollower.Foreign {
        { [confined] effects in for effect in effects { effect.apply(to: &confined.machine) } }
    }

    private func takeFollowing() -> Bool {
        queue.withLock { queue in
            defer { queue.mustFollow = false }
            return queue.mustFollow
        }
    }

    private func followAlone() async {
        // Only an answer of the log ends a refusal.
        _ = await unreached(health.refusal == nil ? .announced : .end)
        // Even if only a part of the log was read.
        carryOut(confined.machine.takeOutput(), self) {}
        onProgress()
    }

    /// Follows the log as far as the members of a batch need it.
    ///
    /// While this node cannot follow, only ``followAlone()`` tries again: otherwise each batch would wait for it.
    ///
    /// - Returns: The reason why that was not reached, or why nothing can be written.
    private func unreachedEnd(_ batch: [Member]) async -> ProtocolError? {
        if let refusal = health.refusal { return refusal }
        guard let goal = LogGoal.furthest(of: batch.compactMap(\.goal)) else { return nil }
        if case .entry(let number) = goal, store.head.number >= number { return nil }
        return await unreached(goal)
    }

    private func unreached(_ goal: LogGoal) async -> ProtocolError? {
        let begin = ContinuousClock.now
        do {
            try await store.follow(to: goal, foreign)
            return health.note(nil, of: .log)
        } catch is CancellationError {
            return .stopping
        } catch {
            return health.note(error, of: .log, since: begin)
        }
    }
}
