import HubStore
import ServiceLifecycle
import Signals
import Synchronization

/// Determines the node that writes, to which the others pass requests: the one with the oldest of the ``WriterClaims``.
///
/// The log decides which node was first, so a wrong result costs additional attempts, but no correctness.
final class WriterWatch: Service {
    /// Time between two looks at the newest entry.
    static let interval = Duration.milliseconds(100)
    /// Number of looks between two announcements of a claim.
    static let looksPerHeartbeat = 5

    private struct State {
        var claims: WriterClaims
        var looks = 0
    }

    private let served: ServedHubs
    private let others: OtherNodes
    private let state: Mutex<State>

    init(_ served: ServedHubs, _ others: OtherNodes) {
        self.served = served
        self.others = others
        state = Mutex(State(claims: WriterClaims(node: others.name)))
    }

    /// The time of a clock that never jumps.
    private var now: Duration { served.configuration.monotonic() }

    func run() async throws {
        await repeatUntilStopped(every: Self.interval, startsNow: true) { self.look() }
    }

    /// The other node that writes; `nil` if this node should write.
    var otherWriter: WriterClaims.Heard? { state.withLock { $0.claims.otherWriter(at: now) } }

    /// True if another node has not been heard for ``WriterClaims/patience``.
    func isSilent(_ name: String) -> Bool { state.withLock { $0.claims.isSilent(name, at: now) } }

    /// Returns when a claim of another node has expired there, or when the task is cancelled.
    func expiry(of heard: WriterClaims.Heard) async {
        while now - heard.at < WriterClaims.patience, (try? await Task.sleep(for: Self.interval)) != nil {}
    }

    /// This node's claim; `nil` without one.
    var claim: WriterClaim? { state.withLock { $0.claims.announced } }

    /// True if this node still has a claim that it made, and has confirmed it recently; see ``WriterClaims``.
    func holds(_ claim: WriterClaim) -> Bool { state.withLock { $0.claims.holds(claim, at: now) } }

    /// True if this node was not paused within a time before now.
    func isAwake(for time: Duration) -> Bool { state.withLock { $0.claims.isAwake(for: time, at: now) } }

    /// Begins, ends or repeats this node's claim; a new one is announced at once.
    func look() {
        let (head, now) = (served.store.head, now)
        let canWrite = served.writer.health.failureReason == nil
        let claim = state.withLock { state -> WriterClaim? in
            let former = state.claims.own
            state.claims.look(at: now, written: head.node == others.name ? head.number : nil, canWrite: canWrite)
            let own = state.claims.own
            state.looks = own == former ? (state.looks + 1) % Self.looksPerHeartbeat : 0
            return state.looks == 0 ? state.claims.announced : nil
        }
        if let claim { announce(claim) }
    }

    private func announce(_ claim: WriterClaim) {
        var bytes = EntryWriter()
        bytes.append(NodeMessages.Kind.heartbeat)
        bytes.append(number: claim.since)
        bytes.append(text: others.name)
        bytes.append(claim)
        others.channel.announce(bytes.bytes)
    }

    /// Notes the heartbeat of another node.
    ///
    /// A late one does no harm: the node refuses what is passed to it with that claim.
    func note(_ heartbeat: ArraySlice<UInt8>) {
        var reader = EntryReader(Array(heartbeat))
        guard let since = try? reader.number(), let name = try? reader.text() else { return }
        // Added later, so that earlier versions leave it out.
        note(try? reader.claim(), since: since, of: name)
    }

    /// Notes a claim of another node; `nil` for one of an earlier version.
    func note(_ claim: WriterClaim?, since: UInt64, of name: String) {
        state.withLock { $0.claims.note(name, since: since, claim, at: now) }
    }

    /// Notes that another node does not listen.
    func forget(_ name: String) { state.withLock { $0.claims.forget(name) } }
}
