/// The nodes that claim to write, and the one that does: the node with the oldest claim.
///
/// The age of a claim is the number of the log's entry with which it began, which no two claims share. All nodes that hear
/// the same claims choose the same node, so that nodes which begin to write at once do not take turns.
struct WriterClaims {
    /// Time after which a claim that is not repeated ends.
    static let patience = Duration.seconds(2)
    private static let maximumNodes = 64

    /// A claim of another node.
    struct Heard {
        let node: String
        let since: UInt64
        /// `nil` for a node of an earlier version, whose requests have no claim.
        let claim: WriterClaim?
        let at: Duration
        /// False if the node is known not to listen.
        var isListening = true
    }

    private let node: String
    private let process: UInt64
    /// The entry with which this node began to write; `nil` if it does not claim to write.
    private(set) var own: UInt64?
    private var others: [String: Heard] = [:]
    private var lastLook: Duration?
    /// The end of the last pause, after which messages from before it can arrive.
    private var pausedUntil: Duration?

    /// The claims as the node with the name `node` knows them; `process` is a random number.
    init(node: String, process: UInt64 = .random(in: .min ... .max)) {
        self.node = node
        self.process = process
    }

    /// The other node that writes; `nil` if this node should write.
    func otherWriter(at now: Duration) -> Heard? {
        let oldest = others.values.lazy.filter { $0.isListening && now - $0.at < Self.patience }
            .min { ($0.since, $0.node) < ($1.since, $1.node) }
        if let own, let oldest, own < oldest.since { return nil }
        return oldest
    }

    /// Notes a claim of another node; `claim` is `nil` for a node of an earlier version.
    mutating func note(_ name: String, since: UInt64, _ claim: WriterClaim? = nil, at now: Duration) {
        others = others.filter { now - $0.value.at < Self.patience }
        guard name != node, others[name] != nil || others.count < Self.maximumNodes else { return }
        others[name] = Heard(node: name, since: since, claim: claim, at: now)
    }

    /// Notes that a node does not listen, until it claims to write again.
    mutating func forget(_ name: String) { others[name]?.isListening = false }

    /// True if a node has not been heard for ``patience``.
    func isSilent(_ name: String, at now: Duration) -> Bool {
        others[name].map { now - $0.at >= Self.patience } ?? true
    }

    // MARK: This node's claim

    /// This node's claim, as of its last look; `nil` without one.
    var announced: WriterClaim? {
        guard let own, let lastLook else { return nil }
        return WriterClaim(since: own, process: process, time: lastLook)
    }

    /// True if this node still has a claim that it made, and has confirmed it within ``patience``.
    func holds(_ claim: WriterClaim, at now: Duration) -> Bool {
        claim.process == process && claim.since == own && claim.time <= now && now - claim.time < Self.patience
    }

    /// True if this node was not paused within the time before `now`.
    func isAwake(for time: Duration, at now: Duration) -> Bool {
        guard let lastLook else { return true }
        return now - lastLook < Self.patience && pausedUntil.map { now - $0 >= time } ?? true
    }

    /// Begins or ends this node's claim.
    ///
    /// - Parameters:
    ///   - now: The time of the look.
    ///   - written: The newest entry of the log, if this node wrote it and can write.
    ///   - canWrite: False if this node cannot write now.
    mutating func look(at now: Duration, written: UInt64?, canWrite: Bool) {
        let wasPaused = lastLook.map { now - $0 >= Self.patience } ?? false
        lastLook = now
        if wasPaused { pausedUntil = now }
        if wasPaused || !canWrite || otherWriter(at: now) != nil { own = nil }
        // Another node has taken over from one that was paused, and will be heard.
        if own == nil, canWrite, !wasPaused, otherWriter(at: now) == nil { own = written }
    }
}
