import HubStore

/// The conditions under which a node may have the lease (``NodeLease``).
struct LeaseEligibility: Sendable {
    let clocks: NodeClocks
    let proof: KeyProof

    /// The reason why this node must not have the lease; `nil` if it may.
    var obstacle: LeaseObstacle? { proof.hasFailed ? .secrets : LeaseObstacle(clocks.compare().verdict) }
}

/// The reason why a node must not have the lease.
enum LeaseObstacle: Equatable, CustomStringConvertible {
    /// The node's clock is ahead of the others, or behind them with a negative duration.
    case clock(ahead: Duration)
    /// The clocks of the nodes and of the log's servers differ, and none of their times has a majority.
    case clocks
    /// The node's key does not open what the other nodes have encrypted.
    case secrets

    init?(_ verdict: NodeClocks.Verdict) {
        switch verdict {
        case .agrees: return nil
        case .deviates(let deviation): self = .clock(ahead: deviation)
        case .undecided: self = .clocks
        }
    }

    var description: String {
        switch self {
        case .clock(let ahead):
            """
            its clock is \(abs(ahead.components.seconds)) s \(ahead < .zero ? "behind" : "ahead of") the other hubs and \
            the log's servers; set the clock
            """
        case .clocks:
            "the clocks of the hubs and of the log's servers differ, and none has a majority; set the wrong ones"
        case .secrets:
            "its secrets.key is not that of the other hubs; copy the file from one of them, and restart this hub"
        }
    }

    func isSameKind(as other: LeaseObstacle?) -> Bool {
        switch (self, other) {
        case (.clock, .clock), (.clocks, .clocks), (.secrets, .secrets): true
        default: false
        }
    }
}
