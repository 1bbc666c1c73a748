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
        /// The reason, last logged, why this node must not have duties.
        var obstacle: LeaseObstacle?
    }

    private let served: ServedHubs
    private let others: OtherNodes
    private let state = Mutex(State())
    private let attempts = Attempts()

    init(_ served: ServedHubs, _ others: OtherNodes) {
        self.served = served
        self.others = others
    }

    private var node: String { others.name }
    private var lease: NodeLease { served.lease }

    func run() async throws {
        await repeatUntilStopped(every: served.configuration.leaseInterval, startsNow: true) { await self.look() }
        await giveBack()
    }

    /// Takes over or renews the duties if that is due.
    func look() async {
        await attempts.make {
            try await others.eligibility.proof.look(in: served.store)
            let obstacle = lease.obstacle
            note(obstacle)
            if obstacle != nil {
                guard lease.term != nil else { return }
                await giveBack()
                served.noteLease()
            } else if let term = lease.term {
                try await keep(term)
            } else {
                try await takeOverIfDue()
            }
        } report: { error in
            served.logger.warning("cannot read the holder of the duties", metadata: ["error.reason": "\(error)"])
        }
    }

    /// Logs what keeps this node from having duties, once.
    private func note(_ obstacle: LeaseObstacle?) {
        let former = state.withLock { state in
            defer { state.obstacle = obstacle }
            return state.obstacle
        }
        guard let obstacle else {
            if former != nil { served.logger.notice("this node may have duties again") }
            return
        }
        guard !obstacle.isSameKind(as: former) else { return }
        served.logger.warning(
            "this node takes no duties until that is corrected",
            metadata: ["error.reason": "\(obstacle)"]
        )
    }

    private func keep(_ term: LeaseTerm) async throws {
        let record = try await served.store.lease()
        guard record.term == term.number, record.node == node else { return lose(to: record) }
        let now = served.configuration.monotonic()
        guard now - (lease.renewedAt ?? .zero) >= Self.renewal else { return }
        let hasLapsed = lease.current == nil
        do {
            try await served.writer.perform { transaction, _ in
                try term.check(transaction)
                try transaction.renewLease()
                return ((), [])
            }
        } catch let error as LeaseLost {
            lose(to: try await served.store.lease())
            throw error
        }
        lease.note(term, at: now)
        if hasLapsed { served.noteLease() }
    }

    private func lose(to record: LeaseRecord) {
        lease.end()
        served.logger.warning("this node has lost its duties", metadata: ["node.holder": "\(record.node ?? "")"])
        served.noteLease()
    }

    private func takeOverIfDue() async throws {
        let record = try await served.store.lease()
        let now = served.configuration.monotonic()
        let since = state.withLock { state in
            if state.seen?.record != record { state.seen = (record, now) }
            return state.seen?.since ?? now
        }
        // An earlier run of this node has left its name in the row.
        let isFree = record.node == nil || record.node == node
        guard isFree || now - since >= Self.patience else { return }
        let node = node
        let number = try await served.writer.perform { transaction, _ in
            guard try transaction.lease() == record else { throw LeaseLost() }
            return (try transaction.takeLease(by: node), [])
        }
        lease.note(LeaseTerm(number: number), at: now)
        served.logger.notice(
            "this node has the hub's duties",
            metadata: ["node.name": "\(node)", "node.former": "\(record.node ?? "")", "duty.term": "\(number)"]
        )
        served.noteLease()
    }

    /// Lets another node take over at once.
    private func giveBack() async {
        guard let term = lease.term else { return }
        lease.end()
        _ = try? await served.writer.perform { transaction, _ in
            try term.check(transaction)
            try transaction.releaseLease()
            return ((), [])
        }
    }
}
