/// The nodes that claim to write, and the one that does: the node with the oldest claim.
///
/// The age of a claim is the number of the log's entry with which it began, which no two claims share. All nodes that hear
/// the same claims choose the same node, so that nodes which begin to write at once do not take turns.
struct WriterClaims {
    /// Time after which a claim that is not repeated ends.
    static let patience = Duration.seconds(2)
    private static let maximumNodes = 64

    private struct Claim {
        let since: UInt64
        let at: Duration
    }

    private let node: String
    /// The entry with which this node began to write; `nil` if it does not claim to write.
    private(set) var own: UInt64?
    private var others: [String: Claim] = [:]
    private var lastLook: Duration?

    /// The claims as the node with the name `node` knows them.
    init(node: String) { self.node = node }

    /// The other node that writes; `nil` if this node should write.
    func otherWriter(at now: Duration) -> String? {
        guard let (name, claim) = oldest(at: now) else { return nil }
        if let own, own < claim.since { return nil }
        return name
    }

    private func oldest(at now: Duration) -> (name: String, claim: Claim)? {
        others.lazy.filter { now - $0.value.at < Self.patience }
            .min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
            .map { (name: $0.key, claim: $0.value) }
    }

    /// Notes the claim of another node.
    mutating func note(_ name: String, since: UInt64, at now: Duration) {
        others = others.filter { now - $0.value.at < Self.patience }
        guard name != node, others[name] != nil || others.count < Self.maximumNodes else { return }
        others[name] = Claim(since: since, at: now)
    }

    /// Ends the claim of a node that does not answer.
    mutating func forget(_ name: String) { others[name] = nil }

    /// Begins or ends this node's claim.
    ///
    /// - Parameters:
    ///   - now: The time of the look.
    ///   - written: The newest entry of the log, if this node wrote it and can write.
    ///   - canWrite: False if this node cannot write now.
    mutating func look(at now: Duration, written: UInt64?, canWrite: Bool) {
        let wasPaused = lastLook.map { now - $0 >= Self.patience } ?? false
        lastLook = now
        if wasPaused || !canWrite || otherWriter(at: now) != nil { own = nil }
        // Another node has taken over from one that was paused, and will be heard.
        if own == nil, canWrite, !wasPaused, oldest(at: now) == nil { own = written }
    }
}
