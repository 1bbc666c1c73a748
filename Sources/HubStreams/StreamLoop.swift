package import HubProtocol
package import HubRouting
package import NIOCore

/// The services of a hub that the streams of an event loop need.
package struct StreamHost: Sendable {
    /// The wall clock.
    let now: @Sendable () -> Timestamp
    /// Passes an event to the hub's machine, in order.
    let post: @Sendable (StreamInput) -> Void
    /// Requests a page of the store, which is passed to ``StreamLoop/receive(_:for:)``.
    let requestPage: @Sendable (StreamPageRequest) -> Void
    /// Called for each rendering of a message that grew beyond the limit.
    let noteOversize: @Sendable (MessageID) -> Void
    /// Called when a message was written to all of a loop's streams that were open when it came.
    let noteWritten: @Sendable (LogSequence, StreamTimes) -> Void

    package init(
        now: @escaping @Sendable () -> Timestamp,
        post: @escaping @Sendable (StreamInput) -> Void,
        requestPage: @escaping @Sendable (StreamPageRequest) -> Void,
        noteOversize: @escaping @Sendable (MessageID) -> Void,
        noteWritten: @escaping @Sendable (LogSequence, StreamTimes) -> Void = { _, _ in }
    ) {
        self.now = now
        self.post = post
        self.requestPage = requestPage
        self.noteOversize = noteOversize
        self.noteWritten = noteWritten
    }
}

/// The streams of one event loop.
///
/// The loop gets commands in log order: streams that begin and end, and messages. It renders each message once for each
/// of its cohorts, in slices, so that its other connections do not wait. It writes to each stream *everything from the
/// stream's cursor to the end* at once. A burst therefore costs one write per stream, an idle stream costs nothing, and
/// a slow reader costs only its cursor.
///
/// `@unchecked Sendable`: all state is touched on `eventLoop` only.
package final class StreamLoop: @unchecked Sendable {
    /// Numbers of streams.
    package struct Census: Sendable {
        package var open = 0
        /// Number of streams with pending messages.
        package var behind = 0

        package init() {}

        package static func += (left: inout Census, right: Census) {
            left.open += right.open
            left.behind += right.behind
        }
    }

    /// Seconds without a write after which a stream's position is written to it.
    static let heartbeat: UInt32 = 15
    /// Seconds after which a stream is ended because its client does not read; the client can resume.
    static let stall: UInt32 = 60
    /// Seconds between two reports of the streams' progress.
    static let progressInterval: UInt32 = 5

    package let eventLoop: any EventLoop
    let limits: StreamLimits
    let reserved: ReservedTagPrefixes
    let encoding: EventEncoding
    let counters: StreamCounters
    let host: StreamHost
    private let index: Int
    private let started: NIODeadline

    /// All streams, including those that are not attached yet.
    private var sessions: [UInt64: StreamSession] = [:]
    private var nextSession: UInt64 = 0
    /// The refusal of all further streams; `nil` while streams are accepted.
    private var closure: ProtocolError?
    var cohorts = CohortTable()
    var work = StreamWork()
    var unwritten = UnwrittenMessages()
    /// Everything up to this sequence has arrived and was rendered.
    private(set) var head: LogSequence
    private var turns = HeavyTurns()

    /// `index` is the number of `eventLoop` among the server's, `head` the log's highest sequence.
    package init(
        eventLoop: any EventLoop,
        index: Int,
        limits: StreamLimits,
        reserved: ReservedTagPrefixes,
        encoding: EventEncoding,
        counters: StreamCounters,
        head: LogSequence,
        host: StreamHost
    ) {
        self.eventLoop = eventLoop
        self.index = index
        self.limits = limits
        self.reserved = reserved
        self.encoding = encoding
        self.counters = counters
        self.head = head
        self.host = host
        started = eventLoop.now
    }

    /// Seconds since the loop started, on a monotonic clock.
    var seconds: UInt32 { UInt32(clamping: (eventLoop.now - started).nanoseconds / 1_000_000_000) }

    package func start() {
        eventLoop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { [weak self] task in
            guard let self else { return task.cancel() }
            self.tick()
        }
    }

    // MARK: - Beginning, changing, ending

    /// Creates a session for a request, which the caller then asks the hub to attach.
    ///
    /// `place` is the stream's place in a quota, kept until the stream has ended.
    package func open(
        _ output: any StreamOutput,
        place: (any Sendable)? = nil,
        isPoll: Bool = false,
        hasHeartbeatEvents: Bool = false
    ) -> StreamSession {
        eventLoop.preconditionInEventLoop()
        let id = StreamID(loop: index, number: nextSession)
        nextSession += 1
        let session = StreamSession(id: id, loop: self, output: output, place: place, isPoll: isPoll)
        session.hasHeartbeatEvents = hasHeartbeatEvents
        sessions[id.number] = session
        // Deferred, because the output must know its session first.
        if let closure { eventLoop.execute { self.refuse(session, closure) } }
        return session
    }

    /// Refuses a session that was not attached.
    private func refuse(_ session: StreamSession, _ error: ProtocolError) {
        guard !session.hasEnded else { return }
        sessions[session.id.number] = nil
        session.release()
        session.output.refuse(error)
    }

    /// Refuses further streams, and those that are not attached yet, because the hub was deleted.
    package func close(_ error: ProtocolError) {
        eventLoop.preconditionInEventLoop()
        closure = error
        for session in Array(sessions.values) where session.cohort == nil { refuse(session, error) }
    }

    /// Carries out the commands of one batch of the hub's writer; calls must be in log order.
    package func apply(_ commands: [StreamCommand]) {
        eventLoop.preconditionInEventLoop()
        for command in commands {
            // An end does not wait for messages that are yet to be rendered.
            if case .end(let id, let reason) = command, let session = sessions[id.number], session.cohort != nil {
                end(session, reason)
            } else {
                work.append(command)
            }
        }
        if work.exceeds(limits) { leaveWaitingToStore() }
        if !work.isScheduled { proceed() }
    }

    /// Carries out a command that is not a message.
    func carryOut(_ command: StreamCommand) {
        switch command {
        case .attach(let id, let attachment): attach(id, attachment)
        case .refuse(let id, let error):
            if let session = session(id) { refuse(session, error) }
        case .move(let id, let recipient, let sequence):
            if let session = session(id) { move(session, to: recipient, at: sequence) }
        case .end(let id, let reason):
            if let session = session(id) { end(session, reason) }
        case .publish, .deliver: break
        case .head(let sequence): head = max(head, sequence)
        }
    }

    private func attach(_ id: StreamID, _ attachment: StreamAttachment) {
        let beginning = attachment.beginning
        guard let session = sessions[id.number] else {
            return detached(id, of: attachment.ordinal, written: beginning.after, nil)
        }
        let cohort = enter(attachment.recipient, session)
        session.attached(attachment, to: cohort)
        let through = max(attachment.through, work.skippedThrough)
        if attachment.needsReplay || through > attachment.through {
            session.state = .catchingUp(through: through)
        } else {
            session.cursor = through
            session.state = .live
        }
        session.output.open()
        session.write(prelude(beginning))
        advance(session)
    }

    /// The first bytes of a stream: `retry:`, and a gap if there is one.
    private func prelude(_ beginning: StreamBeginning) -> ByteBuffer {
        var prelude = EventEncoding.retry
        guard let reason = beginning.gap else { return prelude }
        counters.gaps.add(1)
        prelude.writeImmutableBuffer(
            encoding.gap(
                after: beginning.cursor,
                resumesAfter: beginning.after,
                reason: reason,
                loss: beginning.loss
            )
        )
        return prelude
    }

    private func move(_ session: StreamSession, to recipient: Recipient, at sequence: LogSequence) {
        guard let old = session.cohort else { return }
        if session.isLive, !session.hasPending {
            session.cursor = max(session.cursor, sequence)
        } else {
            // Pending messages belong to the old choice; the store knows which choice applied to each.
            leaveToStore(session, through: sequence)
        }
        cohorts.leave(old, session)
        tidy(old)
        session.recipient = recipient
        session.since = max(session.since, sequence)
        let cohort = enter(recipient, session)
        session.cohort = cohort
        work.touch(cohort)
    }

    private func enter(_ recipient: Recipient, _ session: StreamSession) -> CohortLog {
        cohorts.enter(recipient.cohort(reserved: reserved), session, maximumBytes: limits.cohortBytes)
    }

    private func end(_ session: StreamSession, _ reason: StreamEnd) {
        if let name = reason.eventName { _ = session.output.write(EventEncoding.end(name)) }
        remove(session, reason)
        session.output.close()
    }

    /// Removes a stream whose output has ended or is about to end.
    func remove(_ session: StreamSession, _ reason: StreamEnd?) {
        guard !session.hasEnded else { return }
        settle(session)
        let (cohort, ordinal) = (session.cohort, session.ordinal)
        session.release()
        sessions[session.id.number] = nil
        releaseTurn(session)
        session.cohort = nil
        session.recipient = nil
        session.dropPersonal()
        guard let cohort else { return }
        cohorts.leave(cohort, session)
        tidy(cohort)
        detached(session.id, of: ordinal, written: session.cursor, reason)
    }

    private func detached(_ id: StreamID, of ordinal: Ordinal, written: LogSequence, _ reason: StreamEnd?) {
        host.post(.detached(id, of: ordinal, written: written, ending: reason, at: host.now()))
    }

    // MARK: - Writing

    /// Writes everything that a stream's output can accept now.
    func advance(_ session: StreamSession) {
        guard session.isReady else { return }
        switch session.state {
        case .requested, .ended: return
        case .catchingUp(let through): askForPage(session, through: through)
        case .live:
            if session.hasPending { writePending(session) }
            writePendingPosition(session)
        }
    }

    /// Continues to write to a stream, and removes the entries that no other stream lacks.
    func outputIsReady(_ session: StreamSession) {
        if !session.awaitsPage, session.isReady { releaseTurn(session) }
        advance(session)
        if let cohort = session.cohort { tidy(cohort) }
    }

    private func writePending(_ session: StreamSession) {
        guard let cohort = session.cohort else { return }
        guard session.cursor >= cohort.log.droppedThrough || cohort.last <= session.cursor else {
            leaveToStore(session, through: max(head, cohort.last))
            return advance(session)
        }
        let run: CohortLog.Run?
        // A batch ends with its head, and a stream can be written to in the middle of the batch.
        let through = max(head, cohort.last, session.personal.last?.sequence ?? 0)
        if session.personal.isEmpty {
            run = cohort.run(after: session.cursor)
        } else {
            let entries = cohort.log.entries(after: session.cursor) + session.personal
            run = CohortLog.Run(entries.sorted { $0.sequence < $1.sequence }[...])
            session.dropPersonal()
        }
        session.cursor = max(session.cursor, through)
        guard let run else { return }
        session.hasProgress = true
        counters.written.add(run.messages)
        counters.gaps.add(run.gaps)
        session.write(run.bytes)
        noteWrite(to: cohort)
    }

    private func writePendingPosition(_ session: StreamSession) {
        guard session.owesPosition, session.isLive, !session.hasPending else { return }
        session.owesPosition = false
        writePosition(session)
    }

    /// Writes a heartbeat: the stream is complete up to its position.
    private func writePosition(_ session: StreamSession) {
        settle(session)
        session.write(encoding.heartbeat(session.cursor, asEvent: session.hasHeartbeatEvents))
    }

    // MARK: - From the store

    /// Moves a live stream's cursor past everything that is not for it; done only when needed, so that an idle stream
    /// costs nothing.
    private func settle(_ session: StreamSession) {
        // A stream that lacks what its cohort's log has dropped is not complete, however empty the log.
        guard session.isLive, let cohort = session.cohort, session.cursor >= cohort.log.droppedThrough else { return }
        var complete = cohort.complete(head: head)
        if let first = session.personal.first { complete = min(complete, first.sequence.previous) }
        session.cursor = max(session.cursor, complete)
    }

    /// Makes a stream read what it lacks from the store, at least up to a sequence.
    func leaveToStore(_ session: StreamSession, through: LogSequence) {
        settle(session)
        session.dropPersonal()
        if case .catchingUp(let earlier) = session.state {
            session.state = .catchingUp(through: max(earlier, through))
        } else {
            session.state = .catchingUp(through: through)
        }
    }

    /// Makes all streams read the waiting messages from the store, because there are too many to render.
    private func leaveWaitingToStore() {
        if let sequence = work.renderedSequence { endRendering(sequence) }
        guard let last = work.skipMessages() else { return }
        for session in sessions.values {
            guard let cohort = session.cohort else { continue }
            leaveToStore(session, through: last)
            work.touch(cohort)
        }
    }

    private func askForPage(_ session: StreamSession, through: LogSequence) {
        guard !session.awaitsPage, session.cohort?.isHeavy != true || turns.take(session) else { return }
        session.awaitsPage = true
        host.requestPage(
            StreamPageRequest(
                stream: session.id,
                loop: self,
                ordinal: session.ordinal,
                after: session.cursor,
                through: through,
                isHeavy: session.cohort?.isHeavy == true,
                announcedLoss: session.announcedLoss
            )
        )
    }

    /// Ends a stream's turn, if it has one, and begins that of the next stream with heavy templates.
    private func releaseTurn(_ session: StreamSession) {
        guard let next = turns.release(session) else { return }
        // In a task of its own, to avoid a recursion over all streams.
        eventLoop.execute {
            self.advance(next)
            if !next.awaitsPage { self.releaseTurn(next) }
        }
    }

    /// Writes a requested page; `nil` ends the stream, because the page could not be read.
    package func receive(_ page: StreamPage?, for id: StreamID) {
        eventLoop.preconditionInEventLoop()
        guard let session = sessions[id.number] else { return }
        session.awaitsPage = false
        guard let page else { return end(session, .stopping) }
        guard case .catchingUp(let end) = session.state, let cohort = session.cohort else { return }
        session.cursor = max(session.cursor, page.through)
        if session.cursor >= end {
            if cohort.log.droppedThrough > session.cursor {
                // This can be above the head, with which a batch ends.
                session.state = .catchingUp(through: max(head, cohort.last))
            } else {
                session.dropPersonal(through: session.cursor)
                session.state = .live
            }
        }
        if let bytes = page.bytes {
            session.hasProgress = true
            counters.written.add(page.messages)
            session.write(bytes)
            noteWrite(to: cohort)
        }
        outputIsReady(session)
    }

    // MARK: - Questions

    package var census: Census {
        eventLoop.preconditionInEventLoop()
        var census = Census()
        for session in sessions.values where session.cohort != nil {
            census.open += 1
            if !session.isLive || session.hasPending { census.behind += 1 }
        }
        return census
    }

    /// Positions up to which the streams of some installations were written.
    package func positions(of ordinals: Set<Ordinal>) -> [Ordinal: LogSequence] {
        eventLoop.preconditionInEventLoop()
        var positions: [Ordinal: LogSequence] = [:]
        for session in sessions.values where session.cohort != nil && ordinals.contains(session.ordinal) {
            settle(session)
            positions[session.ordinal] = session.cursor
        }
        return positions
    }

    func session(_ id: StreamID) -> StreamSession? { sessions[id.number] }

    /// The streams that are attached.
    var attached: [StreamSession] { sessions.values.filter { $0.cohort != nil } }

    // MARK: - Time

    private func tick() {
        let (now, time) = (seconds, host.now().seconds)
        var progress: [StreamProgress] = []
        for session in attached {
            if session.hasProgress, now % Self.progressInterval == 0 {
                session.hasProgress = false
                progress.append(StreamProgress(ordinal: session.ordinal, written: session.cursor))
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
        if !progress.isEmpty { host.post(.progress(progress)) }
    }

    /// Writes a poll's position after a while, which ends the poll unless an earlier write has.
    package func beat(_ session: StreamSession, in wait: TimeAmount) {
        guard !session.hasEnded else { return }
        session.beat = eventLoop.scheduleTask(in: wait) {
            session.owesPosition = true
            self.advance(session)
        }
    }
}
