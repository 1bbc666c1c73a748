import HubStore
import Synchronization

/// A node's lease: the right, for a limited time, to do the work that one node of a hub does for all of them.
///
/// This work, the *duties*, is releasing scheduled messages, purging and expiry, compaction, alarms, dropping deleted
/// hubs, and delivery to push services. The node of a hub with one node always has the lease.
final class NodeLease: Sendable {
    /// Time after the last renewal in which this node may act.
    ///
    /// Shorter than ``LeaseKeeper/patience``, so that this node stops before another one takes over.
    static let validity = Duration.seconds(10)

    private struct Tenure {
        let term: LeaseTerm
        var renewedAt: Duration
    }

    /// True if other nodes can have the lease.
    private let isShared: Bool
    private let clock: @Sendable () -> Duration
    private let findObstacle: @Sendable () -> LeaseObstacle?
    private let tenure = Mutex<Tenure?>(nil)

    /// - Parameters:
    ///   - isShared: True if other nodes can have the lease.
    ///   - clock: A clock that never jumps.
    ///   - obstacle: Finds the reason why this node must not have the lease.
    init(
        isShared: Bool,
        clock: @escaping @Sendable () -> Duration,
        obstacle: @escaping @Sendable () -> LeaseObstacle? = { nil }
    ) {
        self.isShared = isShared
        self.clock = clock
        findObstacle = obstacle
    }

    /// The reason why this node must not have the lease; `nil` if it may.
    var obstacle: LeaseObstacle? { isShared ? findObstacle() : nil }

    /// The term of this node, until it learns that the term has ended; `nil` without the lease.
    var term: LeaseTerm? { isShared ? tenure.withLock { $0?.term } : .unshared }

    /// The term of this node if it may act now: the term was renewed a short time ago, and nothing prevents it.
    var current: LeaseTerm? {
        guard isShared else { return .unshared }
        guard obstacle == nil else { return nil }
        let now = clock()
        return tenure.withLock { tenure in
            tenure.flatMap { now - $0.renewedAt < Self.validity ? $0.term : nil }
        }
    }

    /// The time of the last renewal.
    var renewedAt: Duration? { tenure.withLock { $0?.renewedAt } }

    /// Notes that a term was begun or renewed by a change that was made at `time` or later.
    func note(_ term: LeaseTerm, at time: Duration) {
        tenure.withLock { $0 = Tenure(term: term, renewedAt: time) }
    }

    func end() { tenure.withLock { $0 = nil } }
}

/// The time from one takeover of the lease to the next.
struct LeaseTerm: Sendable, Equatable {
    /// The term of a hub with one node, which does not end.
    static let unshared = LeaseTerm(number: nil)

    let number: Int64?

    /// Refuses a change in the transaction that makes it, if the term has ended.
    ///
    /// A node may have been paused since it checked its lease.
    ///
    /// - Throws: ``LeaseLost``.
    func check(_ transaction: Transaction) throws {
        if number != nil { try check(transaction.lease()) }
    }

    /// Refuses work on what was read before, if the log up to there has ended the term.
    ///
    /// The clock of a virtual machine that was paused has stood still: its node believes in the term, and follows the log
    /// beyond the end of it.
    ///
    /// - Throws: ``LeaseLost``; the errors of a read.
    func check(_ store: HubStore) async throws {
        if number != nil { try check(try await store.lease()) }
    }

    private func check(_ lease: LeaseRecord) throws(LeaseLost) {
        guard lease.term == number, lease.node != nil else { throw LeaseLost() }
    }
}

/// Another node has the lease, or no node has it.
struct LeaseLost: Error {}
