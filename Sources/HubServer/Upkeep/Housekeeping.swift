import HubProtocol
import HubRouting
import HubStore
import Logging
import NIOPosix
import SQLiteFiles
import ServiceLifecycle
import Synchronization

/// The hub's periodic work: checks for changed keys, stores the progress of streams, drops expired data, and increments
/// the generation.
final class Housekeeping: Service {
    /// Time within which streams end after another process has revoked their key.
    static let rulesInterval = Duration.milliseconds(500)
    /// Number of checks of the rules between two writes of progress.
    static let looksPerProgress = 10
    /// Number of checks of the rules between two attempts to write after a failure: `/readyz` follows the disk within
    /// two seconds.
    static let looksPerRecovery = 4
    /// Free bytes required for an attempt: with fewer, the next message would fail, and health would keep changing.
    static let roomToRecover = 4 * Message.maximumBytes
    /// Number of checks of the rules between two purges.
    static let looksPerPurge = 120
    /// Number of log rows that one transaction drops, so that senders do not wait long.
    static let purgeRows = 1_000

    /// Time for which a request with the id of an ended registration gets 410.
    static let tombstoneLifetime = Duration.seconds(90 * 86_400)

    private struct State {
        var clock: ClockGuard
        /// Jumps of the clock that stored instants must still follow.
        var jumps: [Jump] = []
    }

    private struct Jump {
        let distance: Duration
        /// The range of the instants that move.
        let noted: ClosedRange<Timestamp>
        /// The progress in the log and in the registrations; `nil` before the first step.
        var through: (sequence: LogSequence, ordinal: Ordinal)?

        /// Records a jump of the clock.
        ///
        /// After a jump back, an instant below the new time may have been stored before or after it. Such instants
        /// stay, and live a little longer.
        init(_ distance: Duration, now: Timestamp) {
            self.distance = distance
            let newest = now - distance + ClockGuard.tolerance
            noted = distance > .zero ? .distantPast...newest : now + ClockGuard.tolerance...newest
        }
    }

    private let served: ServedHubs
    private let generationFile: GenerationFile
    private let state: Mutex<State>
    private let attempts = Attempts()
    private let settling = Once()
    private let fullLog = Once()
    private let manyChanges = Once()

    /// Begins with the clock and the generation of the opened file.
    init(_ served: ServedHubs, _ opened: OpenedHubs) {
        self.served = served
        generationFile = opened.generationFile
        let clock = ClockGuard(
            wall: served.configuration.timestamp,
            monotonic: Self.monotonic,
            lastSeen: opened.lastSeen,
            longestAbsence: served.configuration.timeToLive
        )
        state = Mutex(State(clock: clock))
    }

    func run() async throws {
        if state.withLock({ $0.clock.behind }) != nil { noteStart() }
        await cancelWhenGracefulShutdown {
            var look = 0
            while (try? await Task.sleep(for: Self.rulesInterval)) != nil {
                look += 1
                await self.attempt { try await self.lookAtRules() }
                if look % Self.looksPerRecovery == 0 { await self.attempt { try await self.recover() } }
                if look % Self.looksPerProgress == 0 { await self.attempt { try await self.flushProgress() } }
                guard look % Self.looksPerPurge == 0 else { continue }
                await self.attempt { try await self.countGeneration() }
                await self.attempt { try await self.purge() }
            }
        }
        // The streams have ended; their last progress is on its way through the writer.
        await served.writer.passInOrder()
        await attempt { try await self.flushProgress() }
        // A copy that was made while the hub was running is older than the present state.
        await attempt { try await self.countGeneration() }
    }

    /// Increments the number in the database and then in the file, so that older copies of the database can be
    /// detected.
    func countGeneration(requiringRoom room: Int = 0) async throws {
        let file = generationFile
        let pool = NIOThreadPool.singleton
        let inFile = try await pool.runIfActive { try file.read() }
        let next = try await served.writer.perform { transaction, _ in
            try transaction.requireRoom(bytes: room)
            let next = GenerationFile.next(after: try transaction.generation(), inFile)
            try transaction.set(next)
            return (next, [])
        }
        try await pool.runIfActive { try file.write(next) }
    }

    /// Writes the file after a failure, so that the hub becomes ready again even if no message is sent.
    func recover() async throws {
        guard served.writer.health.failureReason != nil else { return }
        // A small write may still fit into the write-ahead log on a full disk.
        if let space = DiskSpace(at: served.configuration.databasePath), space.available < Self.roomToRecover { return }
        try await countGeneration(requiringRoom: Self.roomToRecover)
    }

    /// Does work that the next check repeats if it fails.
    private func attempt(_ work: () async throws -> Void) async {
        await attempts.make(work) { error in
            served.logger.warning("housekeeping failed; trying again", metadata: ["error.reason": "\(error)"])
        }
    }

    func lookAtRules() async throws {
        // A hub that is created or changed after this has newer rules than those read now.
        let looked = served.directory.hubs.map { (hub: $0, revision: $0.status.rulesRevision) }
        let all = try await served.store.allAccessRules()
        served.writer.observe(namespaceRules: all.namespace)
        for (hub, revision) in looked {
            let rules = AccessRules(hub: all.hubs[hub.record.id] ?? [], namespace: all.namespace)
            let status = hub.status
            guard status.rules != rules, status.rulesRevision == revision else { continue }
            served.writer.post(.rulesObserved(rules, revision: revision), to: hub.record.id)
            served.logger.notice("access rules have changed", metadata: ["hub.name": "\(hub.record.name)"])
        }
    }

    func flushProgress() async throws {
        try await served.directory.forEachHub { hub in
            try await hub.flushProgress()
            try await hub.flushRecounted()
        }
    }

    /// Drops messages and installations that have expired, and the oldest messages if the log is too large.
    ///
    /// Nothing expires while the clock cannot be trusted; the size still limits the log. A node without the duties only
    /// watches its own clock.
    func purge(monotonic: Duration = Housekeeping.monotonic) async throws {
        let now = served.configuration.timestamp
        let verdict = state.withLock { $0.clock.look(wall: now, monotonic: monotonic) }
        note(verdict)
        let isSteady = verdict == .steady
        guard let term = served.lease.current else {
            // Expiry follows the clock of the node with the duties.
            state.withLock { $0.jumps = [] }
            if isSteady { try await noteClock(now) }
            return
        }
        if case .jumped(let jump) = verdict { state.withLock { $0.jumps.append(Jump(jump, now: now)) } }
        try await followJumps(in: term)
        let cutoff = isSteady ? now - served.configuration.timeToLive : nil
        let keyCutoff = isSteady ? now - served.configuration.keyLifetime : nil
        let maximumBytes = served.configuration.maximumLogBytes
        var isDone = false
        while !isDone {
            let dropped = try await served.writer.perform { transaction, _ in
                try term.check(transaction)
                // The next start must not find an untrusted time.
                if isSteady { try transaction.noteClock(now) }
                if let keyCutoff { try transaction.dropKeys(notedBefore: keyCutoff) }
                if isSteady { try transaction.dropTombstones(notedBefore: now - Self.tombstoneLifetime) }
                if let cutoff { try transaction.dropCanceled(before: cutoff) }
                if isSteady { try transaction.endFuture(at: now, limit: Self.purgeRows) }
                let dropped = try transaction.dropOldest(
                    expiredBefore: cutoff,
                    maximumBytes: maximumBytes,
                    limit: Self.purgeRows
                )
                return (dropped, dropped.through.map { [.dropped(through: $0)] } ?? [])
            }
            if dropped.bySize > 0 { noteSize(dropped.bySize) }
            isDone = !dropped.hasMore
        }
        try await compactChanges(in: term)
        guard isSteady else { return }
        try await served.directory.forEachHub { hub in
            let limit = Self.purgeRows
            while try await hub.installations.removeExpired(at: now, limit: limit, in: term) == limit {}
            while try await hub.registrations.endExpired(at: now, limit: limit, in: term) == limit {}
        }
    }

    private func noteClock(_ now: Timestamp) async throws {
        try await served.writer.perform { transaction, _ in
            try transaction.noteClock(now)
            return ((), [])
        }
    }

    /// Drops the oldest registry changes while they exceed their limit; messages stay.
    ///
    /// With Listen, a client can register and change again and again.
    private func compactChanges(in term: LeaseTerm) async throws {
        let limit = served.configuration.maximumChangeBytes
        guard try await served.store.changeSize().bytes > limit else { return }
        let before = try await served.store.changeSize().rows
        // A quarter is freed at once, so that the hub does not repeat this every minute.
        try await served.directory.forEachHub { hub in
            var isDone = false
            while !isDone, try await served.store.changeSize().bytes > limit - limit / 4 {
                let dropped = try await hub.perform { transaction, _ in
                    try term.check(transaction)
                    return (try transaction.dropChanges(hub: hub.record.id, limit: Self.purgeRows), [])
                }
                isDone = dropped < Self.purgeRows
            }
        }
        let dropped = max(0, before - (try await served.store.changeSize().rows))
        guard dropped > 0, manyChanges.isFirst() else { return }
        served.logger.warning(
            "registry changes exceed their limit: the oldest are dropped; agents that were away since then see a gap",
            metadata: ["changes.limit.bytes": "\(limit)", "changes.dropped": "\(dropped)"]
        )
    }

    /// Moves the instants stored before a jump of the clock by that jump, so that nothing becomes older.
    private func followJumps(in term: LeaseTerm) async throws {
        while let jump = state.withLock({ $0.jumps.first }) {
            let after = jump.through ?? (0, 0)
            let last = try await served.writer.perform { transaction, _ in
                try term.check(transaction)
                if jump.through == nil { try transaction.moveKeys(by: jump.distance, noted: jump.noted) }
                let last = (
                    sequence: try transaction.moveInstants(
                        by: jump.distance,
                        noted: jump.noted,
                        after: after.sequence,
                        limit: Self.purgeRows
                    ),
                    ordinal: try transaction.moveRegistrations(
                        by: jump.distance,
                        noted: jump.noted,
                        after: after.ordinal,
                        limit: Self.purgeRows
                    )
                )
                return (last, [])
            }
            state.withLock { state in
                if last.sequence == nil && last.ordinal == nil {
                    state.jumps.removeFirst()
                } else {
                    state.jumps[0].through = (last.sequence ?? after.sequence, last.ordinal ?? after.ordinal)
                }
            }
            if last.sequence == nil && last.ordinal == nil {
                served.logger.debug(
                    "stored times were moved by the jump of the clock",
                    metadata: ["clock.jump.seconds": "\(jump.distance.components.seconds)"]
                )
            }
        }
    }

    private func note(_ verdict: ClockGuard.Verdict) {
        switch verdict {
        case .steady: settling.reset()
        case .settling: noteStart()
        case .jumped(let distance):
            guard settling.isFirst() else { return }
            served.logger.warning(
                "the clock has jumped; nothing expires until it has been steady for an hour",
                metadata: ["clock.jump.seconds": "\(distance.components.seconds)"]
            )
        }
    }

    /// Logs that the clock of this start cannot be trusted yet.
    private func noteStart() {
        guard settling.isFirst() else { return }
        guard let behind = state.withLock({ $0.clock.behind }) else {
            served.logger.warning(
                "the clock is far ahead of the last stop; nothing expires until it has been steady for an hour"
            )
            return
        }
        // The machine's clock has no battery, or the clock was set back.
        served.logger.warning(
            "the clock is behind the hub's last stored time; nothing expires until it has been steady for an hour",
            metadata: [
                "clock.now": "\(ISODateTime.formatSeconds(served.configuration.now()))",
                "clock.behind.seconds": "\(behind.components.seconds)",
            ]
        )
    }

    private func noteSize(_ messages: Int) {
        guard fullLog.isFirst() else { return }
        served.logger.warning(
            "the message log is full: the oldest messages are dropped before they expire, and agents see a gap",
            metadata: [
                "log.limit.bytes": "\(served.configuration.maximumLogBytes)", "log.dropped.messages": "\(messages)",
            ]
        )
    }

    /// A clock that never jumps but continues while the machine sleeps: otherwise waking up would look like a jump.
    static var monotonic: Duration { start.duration(to: .now) }
    private static let start = ContinuousClock.now
}
