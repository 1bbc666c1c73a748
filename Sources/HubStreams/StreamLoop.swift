import HubProtocol
import NIOCore

/// The streams of one event loop.
///
/// The hub tells it, in the order of the log, who comes and goes and what each cohort gets; it writes to each stream
/// *everything from the stream's cursor to the end* at once. So a burst costs one write a stream, an idle stream costs
/// nothing, and a slow reader costs its cursor only.
///
/// `@unchecked Sendable`: all state is touched on `eventLoop` only.
final class StreamLoop: @unchecked Sendable {
    /// What the hub tells a loop.
    enum Command: Sendable {
        case attach(StreamSession, Attachment)
        case refuse(StreamSession, ProtocolError)
        /// The installation's choice has changed at the sequence.
        case move(StreamSession, cohort: Int, isHeavy: Bool, at: Int64)
        case end(StreamSession, StreamEnd)
        case cohortEvents(Int, CohortEntries.Entry)
        case personalEvents(StreamSession, CohortEntries.Entry)
        /// A cohort's streams read what they lack, at least up to the sequence, from the store.
        case cohortReads(Int, through: Int64)
        /// The same for one stream.
        case sessionReads(StreamSession, through: Int64)
        /// Everything up to this sequence was told.
        case head(Int64)
    }

    struct Attachment: Sendable {
        let ordinal: Int64
        let cohort: Int
        let isHeavy: Bool
        /// What is owed has a higher sequence.
        let after: Int64
        /// What is owed lies in the store up to this sequence; what comes later is told.
        let through: Int64
        /// Whether the store may hold something between the two.
        let needsReplay: Bool
        /// The sequence of a loss that the gap of the prelude stands for.
        let toldLoss: Int64?
        /// Written first: `retry:`, and a gap if there is one.
        let prelude: ByteBuffer
        /// When the token expires, in seconds since 1970.
        var validUntil = Int64.max
    }

    /// A page of the store for a stream that is not at the end.
    struct PageRequest: Sendable {
        let session: StreamSession
        let ordinal: Int64
        let after: Int64
        let through: Int64
        /// The recipient's templates are heavy.
        let isHeavy: Bool
        /// The sequence of a loss that was announced when the stream began.
        let toldLoss: Int64?
    }

    /// What a page of the store holds.
    struct Page: Sendable {
        /// The encoded events; `nil` when there are none.
        let bytes: ByteBuffer?
        var messages = 0
        /// The stream is complete up to this sequence with them.
        let through: Int64
    }

    /// How many streams there are.
    struct Census: Sendable {
        var open = 0
        /// With something yet to be written.
        var behind = 0

        static func += (left: inout Census, right: Census) {
            left.open += right.open
            left.behind += right.behind
        }
    }

    /// A quiet stream is written its position this often, in seconds.
    static let heartbeat: UInt32 = 15
    /// A stream that takes nothing for so long, in seconds, while something waits, is ended; it resumes.
    static let stall: UInt32 = 60
    /// Streams that are written to before the loop looks after its other connections.
    static let fanOutPart = 128
    /// How long it looks after them at least.
    static let fanOutPause = TimeAmount.microseconds(20)
    /// Seconds between two reports of how far streams are.
    static let progressInterval: UInt32 = 5

    /// A walk through all streams that may have something to be written.
    private struct Round {
        var cohorts: [CohortLog] = []
        /// Those that were not reached yet.
        var sessions: [StreamSession] = []
        /// The next part is on its way.
        var isScheduled = false
    }

    let eventLoop: any EventLoop
    let limits: StreamLimits
    private let encoding: EventEncoding
    private let counters: HubCounters
    /// Seconds since 1970.
    private let now: @Sendable () -> Int64
    private let requestPage: @Sendable (PageRequest) -> Void
    private let detached: @Sendable (StreamSession, _ ordinal: Int64, _ written: Int64) -> Void
    private let noteProgress: @Sendable ([(ordinal: Int64, written: Int64)]) -> Void

    private var sessions: [ObjectIdentifier: StreamSession] = [:]
    private var cohorts: [Int: CohortLog] = [:]
    /// Cohorts that something was told for since the last round began.
    private var touched: Set<Int> = []
    private var round = Round()
    private var head: Int64 = 0
    /// Bytes of all cohorts' logs.
    private var retainedBytes = 0
    private var turns = HeavyTurns()
    private let started: NIODeadline

    init(
        eventLoop: any EventLoop,
        limits: StreamLimits,
        encoding: EventEncoding,
        counters: HubCounters,
        head: Int64,
        now: @escaping @Sendable () -> Int64,
        requestPage: @escaping @Sendable (PageRequest) -> Void,
        detached: @escaping @Sendable (StreamSession, _ ordinal: Int64, _ written: Int64) -> Void,
        noteProgress: @escaping @Sendable ([(ordinal: Int64, written: Int64)]) -> Void
    ) {
        self.eventLoop = eventLoop
        self.limits = limits
        started = eventLoop.now
        self.encoding = encoding
        self.counters = counters
        self.head = head
        self.now = now
        self.requestPage = requestPage
        self.detached = detached
        self.noteProgress = noteProgress
    }

    /// Seconds since the loop started, on a monotonic clock.
    var seconds: UInt32 { UInt32(clamping: (eventLoop.now - started).nanoseconds / 1_000_000_000) }

    func start() {
        eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { [weak self] task in
            guard let self else { return task.cancel() }
            self.tick()
        }
    }

    /// Carries out what a batch of the hub's writer has changed; calls must come in the order of the log.
    func apply(_ commands: [Command]) {
        eventLoop.preconditionInEventLoop()
        for command in commands { apply(command) }
        if !round.isScheduled { fanOut() }
    }

    /// Writes to the streams of the cohorts that something was told for, a part of them at a time.
    ///
    /// Between two parts the loop looks after its other connections, so that many streams do not keep requests waiting;
    /// and the streams that were not reached yet get what came meanwhile in the same write.
    private func fanOut() {
        round.isScheduled = false
        if round.sessions.isEmpty {
            round.cohorts = touched.compactMap { cohorts[$0] }
            round.sessions = round.cohorts.flatMap(\.sessions.values)
            touched.removeAll(keepingCapacity: true)
        }
        for session in round.sessions.suffix(Self.fanOutPart) { advance(session) }
        round.sessions.removeLast(min(Self.fanOutPart, round.sessions.count))
        if round.sessions.isEmpty {
            for cohort in round.cohorts { trim(cohort) }
            round.cohorts = []
        }
        guard !round.sessions.isEmpty || !touched.isEmpty else { return }
        round.isScheduled = true
        // An immediate task would run before the loop looks at its connections.
        eventLoop.scheduleTask(in: Self.fanOutPause) { self.fanOut() }
    }

    private func apply(_ command: Command) {
        switch command {
        case .attach(let session, let attachment): attach(session, attachment)
        case .refuse(let session, let error):
            guard !session.hasEnded else { return }
            session.release()
            session.output.refuse(error)
        case .move(let session, let id, let isHeavy, let sequence): move(session, to: id, isHeavy, at: sequence)
        case .end(let session, let reason): end(session, reason)
        case .cohortEvents(let id, let entry):
            guard let cohort = cohorts[id] else { return }
            retainedBytes -= cohort.log.bytes
            cohort.append(entry, head: head)
            retainedBytes += cohort.log.bytes
            boundRetained()
            touched.insert(id)
        case .personalEvents(let session, let entry):
            guard !session.hasEnded, let cohort = session.cohort else { return }
            if !session.keep(entry) { leaveToStore(session, through: entry.sequence) }
            touched.insert(cohort.id)
        case .cohortReads(let id, let sequence):
            guard let cohort = cohorts[id] else { return }
            for session in cohort.sessions.values { leaveToStore(session, through: sequence) }
            touched.insert(id)
        case .sessionReads(let session, let sequence):
            guard !session.hasEnded, let cohort = session.cohort else { return }
            leaveToStore(session, through: sequence)
            touched.insert(cohort.id)
        case .head(let sequence): head = max(head, sequence)
        }
    }

    // MARK: - Coming, changing, going

    private func attach(_ session: StreamSession, _ attachment: Attachment) {
        guard !session.hasEnded else { return detached(session, attachment.ordinal, attachment.after) }
        let cohort = enter(attachment.cohort, attachment.isHeavy, session)
        session.attached(ordinal: attachment.ordinal, cohort: cohort, cursor: attachment.after)
        // A poll ends before clocks could differ by more.
        if !session.isPoll { session.validUntil = attachment.validUntil }
        session.toldLoss = attachment.toldLoss
        sessions[ObjectIdentifier(session)] = session
        if attachment.needsReplay {
            session.state = .catchingUp(through: attachment.through)
        } else {
            session.cursor = attachment.through
            session.state = .live
        }
        session.output.open()
        session.write(attachment.prelude)
        advance(session)
    }

    private func move(_ session: StreamSession, to id: Int, _ isHeavy: Bool, at sequence: Int64) {
        guard !session.hasEnded, let old = session.cohort else { return }
        if session.isLive, !session.hasPending {
            session.cursor = max(session.cursor, sequence)
        } else {
            // What is still to be written belongs to the old choice; the store knows which row was in force.
            leaveToStore(session, through: sequence)
        }
        leave(old, session)
        session.cohort = enter(id, isHeavy, session)
        touched.insert(id)
    }

    private func enter(_ id: Int, _ isHeavy: Bool, _ session: StreamSession) -> CohortLog {
        let cohort = cohorts[id] ?? CohortLog(id: id, isHeavy: isHeavy, maximumBytes: limits.cohortBytes)
        cohorts[id] = cohort
        cohort.add(session)
        return cohort
    }

    private func leave(_ cohort: CohortLog, _ session: StreamSession) {
        cohort.remove(session)
        guard cohort.sessions.isEmpty else { return }
        cohorts[cohort.id] = nil
        retainedBytes -= cohort.log.bytes
    }

    private func trim(_ cohort: CohortLog) {
        guard cohorts[cohort.id] === cohort else { return }
        retainedBytes -= cohort.log.bytes
        cohort.trim()
        retainedBytes += cohort.log.bytes
    }

    /// Drops the largest logs when all together hold more than ``StreamLimits/totalBytes``; their streams read from the
    /// store what they lack.
    private func boundRetained() {
        guard retainedBytes > limits.totalBytes else { return }
        for cohort in cohorts.values.sorted(by: { $0.log.bytes > $1.log.bytes }) {
            guard retainedBytes > limits.totalBytes / 2 else { return }
            retainedBytes -= cohort.log.bytes
            cohort.drop()
            touched.insert(cohort.id)
        }
    }

    private func end(_ session: StreamSession, _ reason: StreamEnd) {
        guard !session.hasEnded else { return }
        if let name = reason.eventName { _ = session.output.write(EventEncoding.end(name)) }
        session.ending = reason
        remove(session)
        session.output.close()
    }

    /// Forgets a stream; its output is gone or going.
    func remove(_ session: StreamSession) {
        guard !session.hasEnded else { return }
        settle(session)
        session.release()
        sessions[ObjectIdentifier(session)] = nil
        if let cohort = session.cohort {
            leave(cohort, session)
            trim(cohort)
        }
        releaseTurn(session)
        session.cohort = nil
        session.dropPersonal()
        detached(session, session.ordinal, session.cursor)
    }

    // MARK: - Writing

    /// Writes all that a stream can be written now.
    func advance(_ session: StreamSession) {
        guard session.isReady else { return }
        switch session.state {
        case .requested, .ended: return
        case .catchingUp(let through): askForPage(session, through: through)
        case .live:
            if session.hasPending { writePending(session) }
            writeOwedPosition(session)
        }
    }

    /// Writes a stream what its output has made room for, and forgets what no other stream lacks.
    func outputIsReady(_ session: StreamSession) {
        if !session.awaitsPage, session.isReady { releaseTurn(session) }
        advance(session)
        if let cohort = session.cohort { trim(cohort) }
    }

    private func writePending(_ session: StreamSession) {
        guard let cohort = session.cohort else { return }
        guard session.cursor >= cohort.log.droppedThrough || cohort.last <= session.cursor else {
            leaveToStore(session, through: head)
            return advance(session)
        }
        let owed: CohortLog.Run?
        // The head is told last, and an output may make room in the middle of a batch.
        let through = max(head, cohort.last, session.personal.last?.sequence ?? 0)
        if session.personal.isEmpty {
            owed = cohort.run(after: session.cursor)
        } else {
            let entries = cohort.log.entries(after: session.cursor) + session.personal
            owed = CohortLog.Run(entries.sorted { $0.sequence < $1.sequence }[...])
            session.dropPersonal()
        }
        session.cursor = max(session.cursor, through)
        guard let owed else { return }
        session.hasProgress = true
        counters.written.add(owed.messages)
        counters.gaps.add(owed.gaps)
        session.write(owed.bytes)
    }

    private func writeOwedPosition(_ session: StreamSession) {
        guard session.owesPosition, session.isLive, !session.hasPending else { return }
        session.owesPosition = false
        writePosition(session)
    }

    /// Writes a heartbeat: all that is owed up to its position was handed out.
    private func writePosition(_ session: StreamSession) {
        settle(session)
        session.write(encoding.heartbeat(session.cursor))
    }

    // MARK: - From the store

    /// Moves a live stream's cursor over all that holds nothing for it, which is not done as it happens: an idle
    /// stream costs nothing.
    private func settle(_ session: StreamSession) {
        guard session.isLive, let cohort = session.cohort else { return }
        var complete = cohort.complete(head: head)
        if let first = session.personal.first { complete = min(complete, first.sequence - 1) }
        session.cursor = max(session.cursor, complete)
    }

    /// Lets a stream read what it lacks from the store, at least up to a place.
    private func leaveToStore(_ session: StreamSession, through: Int64) {
        settle(session)
        session.dropPersonal()
        if case .catchingUp(let earlier) = session.state {
            session.state = .catchingUp(through: max(earlier, through))
        } else {
            session.state = .catchingUp(through: through)
        }
    }

    private func askForPage(_ session: StreamSession, through: Int64) {
        guard !session.awaitsPage, session.cohort?.isHeavy != true || turns.take(session) else { return }
        session.awaitsPage = true
        requestPage(
            PageRequest(
                session: session,
                ordinal: session.ordinal,
                after: session.cursor,
                through: through,
                isHeavy: session.cohort?.isHeavy == true,
                toldLoss: session.toldLoss
            )
        )
    }

    /// Lets the next stream with heavy templates read from the store, if this one was.
    private func releaseTurn(_ session: StreamSession) {
        guard let next = turns.release(session) else { return }
        // In a task of its own: a page of one stream must not be the beginning of a recursion over all.
        eventLoop.execute {
            self.advance(next)
            if !next.awaitsPage { self.releaseTurn(next) }
        }
    }

    /// Takes a page that was asked for.
    func receivePage(_ session: StreamSession, _ page: Page) {
        eventLoop.preconditionInEventLoop()
        session.awaitsPage = false
        guard case .catchingUp(let end) = session.state, let cohort = session.cohort else { return }
        session.cursor = max(session.cursor, page.through)
        if session.cursor >= end {
            if cohort.log.droppedThrough > session.cursor {
                session.state = .catchingUp(through: head)
            } else {
                session.dropPersonal(through: session.cursor)
                session.state = .live
            }
        }
        if let bytes = page.bytes {
            session.hasProgress = true
            counters.written.add(page.messages)
            session.write(bytes)
        }
        outputIsReady(session)
    }

    /// Ends a stream whose page could not be read; the client comes back to it.
    func pageFailed(_ session: StreamSession) {
        end(session, .stopping)
    }

    var census: Census {
        eventLoop.preconditionInEventLoop()
        return Census(open: sessions.count, behind: sessions.values.count { !$0.isLive || $0.hasPending })
    }

    /// How far the streams of some installations were written, by their ordinals.
    func positions(of ordinals: Set<Int64>) -> [Int64: Int64] {
        eventLoop.preconditionInEventLoop()
        var positions: [Int64: Int64] = [:]
        for session in sessions.values where ordinals.contains(session.ordinal) {
            settle(session)
            positions[session.ordinal] = session.cursor
        }
        return positions
    }

    // MARK: - Time

    private func tick() {
        let (now, time) = (seconds, self.now())
        var progress: [(ordinal: Int64, written: Int64)] = []
        for session in Array(sessions.values) {
            if session.hasProgress, now % Self.progressInterval == 0 {
                session.hasProgress = false
                progress.append((session.ordinal, session.cursor))
            }
            guard time < session.validUntil else {
                end(session, .expired)
                continue
            }
            let quiet = now &- session.lastWrite
            if !session.isReady {
                if quiet >= Self.stall { end(session, .stopping) }
            } else if quiet >= Self.heartbeat, !(session.isLive && session.hasPending) {
                writePosition(session)
            }
        }
        if !progress.isEmpty { noteProgress(progress) }
    }

    /// Writes a poll its position after a while, as a heartbeat does, which ends it unless something else has before.
    func beat(_ session: StreamSession, in wait: TimeAmount) {
        guard !session.hasEnded else { return }
        session.beat = eventLoop.scheduleTask(in: wait) {
            session.owesPosition = true
            self.advance(session)
        }
    }
}
