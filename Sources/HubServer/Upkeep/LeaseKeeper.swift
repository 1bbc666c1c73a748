import HubProtocol
import HubStore
import Logging
import ServiceLifecycle
import Signals
import Synchronization

/// Takes over the duties of a hub that several nodes serve, renews this node's term, and gives it back at a stop.
///
/// No clocks of different nodes are compared: a node takes over after it has not seen the row change for some time of
/// its own clock, and only if the row is unchanged in the transaction that takes over.
final class LeaseKeeper: Service {
    /// Usual time between two looks at the row.
    static let interval = Duration.milliseconds(500)
    /// Time between two renewals.
    static let renewal = Duration.seconds(5)
    /// Time without a change of the row after which another node takes over.
    static let patience = Duration.seconds(15)

    private struct State {
        /// The row as last seen while another node had the duties, and since when.
        var seen: (record: LeaseRecord, since: Duration)?
        var hasSaidFailure = false
        /// The reason, last logged, why this node must not have duties.
        var obstacle: LeaseObstacle?
    }

    private let node: String
    private let lease: NodeLease
    private let proof: KeyProof
    private let store: HubStore
    private let writer: HubWriter
    private let interval: Duration
    private let clock: @Sendable () -> Duration
    private let logger: Logger
    /// Called when this node may act again, and when it has lost its duties.
    private let changed: @Sendable () -> Void
    private let state = Mutex(State())

    /// Makes the keeper of the node with the name `node`; `clock` never jumps.
    init(
        node: String,
        lease: NodeLease,
        proof: KeyProof,
        store: HubStore,
        writer: HubWriter,
        interval: Duration,
        clock: @escaping @Sendable () -> Duration,
        logger: Logger,
        changed: @escaping @Sendable () -> Void
    ) {
        self.node = node
        self.lease = lease
        self.proof = proof
        self.store = store
        self.writer = writer
        self.interval = interval
        self.clock = clock
        self.logger = logger
        self.changed = changed
    }

    func run() async throws {
        await repeatUntilStopped(every: interval, startsNow: true) { await self.look() }
        await giveBack()
    }

    /// Takes over or renews the duties if that is due.
    func look() async {
        do {
            try await proof.look(in: store)
            let obstacle = lease.obstacle
            note(obstacle)
            if obstacle != nil {
                guard lease.term != nil else { return }
                await giveBack()
                changed()
            } else if let term = lease.term {
                try await keep(term)
            } else {
                try await takeOverIfDue()
            }
            state.withLock { $0.hasSaidFailure = false }
        } catch is LeaseLost {
            // Another node was first.
        } catch is ProtocolError {
            // The writer has logged why it cannot write.
        } catch is CancellationError {
            // The hub is stopping.
        } catch {
            let isFirst = state.withLock { state in
                defer { state.hasSaidFailure = true }
                return !state.hasSaidFailure
            }
            guard isFirst else { return }
            logger.warning("cannot read the holder of the duties", metadata: ["error.reason": "\(error)"])
        }
    }

    /// Logs what keeps this node from having duties, once.
    private func note(_ obstacle: LeaseObstacle?) {
        let former = state.withLock { state in
            defer { state.obstacle = obstacle }
            return state.obstacle
        }
        guard let obstacle else {
            if former != nil { logger.notice("this node may have duties again") }
            return
        }
        guard !obstacle.isSameKind(as: former) else { return }
        logger.warning("this node takes no duties until that is corrected", metadata: ["error.reason": "\(obstacle)"])
    }

    private func keep(_ term: LeaseTerm) async throws {
        let record = try await store.lease()
        guard record.term == term.number, record.node == node else { return lose(to: record) }
        let now = clock()
        guard now - (lease.renewedAt ?? .zero) >= Self.renewal else { return }
        let hasLapsed = lease.current == nil
        do {
            try await writer.perform { transaction, _ in
                try term.check(transaction)
                try transaction.renewLease()
                return ((), [])
            }
        } catch let error as LeaseLost {
            lose(to: try await store.lease())
            throw error
        }
        lease.note(term, at: now)
        if hasLapsed { changed() }
    }

    private func lose(to record: LeaseRecord) {
        lease.end()
        logger.warning("this node has lost its duties", metadata: ["node.holder": "\(record.node ?? "")"])
        changed()
    }

    private func takeOverIfDue() async throws {
        let record = try await store.lease()
        let now = clock()
        let since = state.withLock { state in
            if state.seen?.record != record { state.seen = (record, now) }
            return state.seen?.since ?? now
        }
        // An earlier run of this node has left its name in the row.
        let isFree = record.node == nil || record.node == node
        guard isFree || now - since >= Self.patience else { return }
        let node = node
        let number = try await writer.perform { transaction, _ in
            guard try transaction.lease() == record else { throw LeaseLost() }
            return (try transaction.takeLease(by: node), [])
        }
        lease.note(LeaseTerm(number: number), at: now)
        logger.notice(
            "this node has the hub's duties",
            metadata: ["node.name": "\(node)", "node.former": "\(record.node ?? "")", "duty.term": "\(number)"]
        )
        changed()
    }

    /// Lets another node take over at once.
    private func giveBack() async {
        guard let term = lease.term else { return }
        lease.end()
        _ = try? await writer.perform { transaction, _ in
            try term.check(transaction)
            try transaction.releaseLease()
            return ((), [])
        }
    }
}
