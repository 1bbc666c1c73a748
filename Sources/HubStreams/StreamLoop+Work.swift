import HubProtocol
import HubRouting
import NIOCore

/// Pending work of an event loop: commands in order, the message that is being rendered, and streams that are to be
/// written to.
struct StreamWork {
    /// A message with its recipients; it precedes the waiting commands.
    fileprivate enum Rendering {
        case cohorts(RoutedMessage, [CohortLog])
        case streams(RoutedMessage, [StreamSession])
    }

    fileprivate var waiting = CircularBuffer<StreamCommand>()
    private var messages = 0
    private var bytes = 0
    fileprivate var rendering: Rendering?
    /// Number of cohorts or streams of ``rendering`` that are done.
    fileprivate var rendered = 0
    /// Cost so far of the message that is being rendered, in bytes.
    fileprivate var cost = 0
    /// Number of renderings since streams were last written to.
    fileprivate var unwritten = 0
    /// Cohorts of the next round of writing.
    private var touched: [CohortLog] = []
    fileprivate var round: [CohortLog] = []
    /// Streams that the round has yet to reach.
    fileprivate var sessions: [StreamSession] = []
    /// True if the next slice is scheduled.
    fileprivate(set) var isScheduled = false
    /// The sequence of the last message that was skipped.
    private(set) var skippedThrough: LogSequence = 0

    mutating func append(_ command: StreamCommand) {
        waiting.append(command)
        guard let message = command.message else { return }
        messages += 1
        bytes += message.size
    }

    fileprivate mutating func next() -> StreamCommand? {
        guard let command = waiting.popFirst() else { return nil }
        if let message = command.message {
            messages -= 1
            bytes -= message.size
        }
        return command
    }

    func exceeds(_ limits: StreamLimits) -> Bool {
        messages > limits.waitingMessages || bytes > limits.waitingBytes
    }

    /// The message that is being rendered.
    var renderedSequence: LogSequence? {
        switch rendering {
        case .cohorts(let message, _), .streams(let message, _): message.sequence
        case nil: nil
        }
    }

    /// Drops all messages that wait or are being rendered.
    ///
    /// - Returns: The sequence of the last one; `nil` if there were none.
    mutating func skipMessages() -> LogSequence? {
        let last = waiting.last { $0.message != nil }?.message?.sequence ?? renderedSequence
        waiting = CircularBuffer(waiting.filter { $0.message == nil })
        (messages, bytes, rendering) = (0, 0, nil)
        if let last { skippedThrough = last }
        return last
    }

    mutating func touch(_ cohort: CohortLog) {
        guard !cohort.isTouched else { return }
        cohort.isTouched = true
        touched.append(cohort)
    }

    fileprivate mutating func beginRound() {
        round = touched
        touched = []
        for cohort in round {
            cohort.isTouched = false
            sessions.append(contentsOf: cohort.sessions.values)
        }
    }

    fileprivate var isRendering: Bool { rendering != nil || !waiting.isEmpty }
    /// True if work has arrived since the round of writing began.
    fileprivate var isBehind: Bool { isRendering || !touched.isEmpty }
    fileprivate var isWriting: Bool { !sessions.isEmpty || !touched.isEmpty }
}

extension StreamCommand {
    fileprivate var message: RoutedMessage? {
        switch self {
        case .publish(let message), .deliver(let message, _): message
        case .attach, .refuse, .move, .end, .head: nil
        }
    }
}

extension StreamLoop {
    /// Maximum number of commands and renderings in one slice.
    private static let sliceSteps = 128
    /// Cost of renderings after which a slice ends, in bytes.
    private static let sliceBytes = 256 << 10
    /// Maximum number of streams that are written to in one slice.
    private static let sliceWrites = 128
    /// The same while messages arrive faster than they are written: slower rounds carry more of them in each write.
    ///
    /// With 128, the same message rate takes a quarter more processor time (scenario B of `Benchmarks/fan-out.py`).
    private static let burstWrites = 32
    /// Number of renderings after which streams are written to although more messages wait: one write should carry a
    /// whole burst.
    private static let renderingsPerWrite = 1_024
    /// Minimum time between two slices, in which the loop serves its other connections.
    private static let pause = TimeAmount.microseconds(20)

    /// Does a slice of the work: commands and renderings first, then writes.
    ///
    /// Between two slices the loop serves its other connections, so that many streams do not delay requests. Streams
    /// that the round has yet to reach get newly arrived messages in the same write.
    func proceed() {
        work.isScheduled = false
        render()
        if !work.isRendering || work.unwritten >= Self.renderingsPerWrite || !work.sessions.isEmpty { write() }
        guard work.isRendering || work.isWriting else { return }
        work.isScheduled = true
        // An immediate task would run before the loop serves its connections.
        eventLoop.scheduleTask(in: Self.pause) { self.proceed() }
    }

    private func render() {
        var (steps, bytes) = (0, 0)
        while steps < Self.sliceSteps, bytes < Self.sliceBytes {
            steps += 1
            let before = work.cost
            switch work.rendering {
            case .cohorts(let message, let cohorts) where work.rendered < cohorts.count:
                publish(message, to: cohorts[work.rendered])
                work.rendered += 1
            case .streams(let message, let sessions) where work.rendered < sessions.count:
                deliver(message, to: sessions[work.rendered])
                work.rendered += 1
            case .cohorts(let message, _), .streams(let message, _):
                work.rendering = nil
                endRendering(message.sequence)
            case nil:
                guard let command = work.next() else { return }
                begin(command)
            }
            bytes += max(0, work.cost - before)
        }
    }

    private func begin(_ command: StreamCommand) {
        switch command {
        case .publish(let message):
            beginMeasuring(message)
            work.rendering = .cohorts(message, cohorts.inOrder())
        case .deliver(let message, let ids):
            beginMeasuring(message)
            work.rendering = .streams(message, ids.map { $0.compactMap { session($0) } } ?? attached)
        case .attach, .refuse, .move, .end, .head: return carryOut(command)
        }
        (work.rendered, work.cost) = (0, 0)
    }

    /// Renders a message for a cohort; if the message has cost too much, the cohort's streams read it from the store.
    private func publish(_ message: RoutedMessage, to cohort: CohortLog) {
        guard !cohort.sessions.isEmpty else { return }
        work.unwritten += 1
        if work.cost < (cohort.isHeavy ? limits.heavyBytes : limits.totalBytes) {
            guard let entry = encode(message, for: cohort.recipient) else { return }
            cohorts.append(entry, to: cohort, head: head)
            for dropped in cohorts.bound(to: limits.totalBytes) { work.touch(dropped) }
            if !entry.isGap { expect(message.sequence, at: cohort) }
        } else {
            guard cohort.recipient.receives(message) else { return }
            for session in cohort.sessions.values { leaveToStore(session, through: message.sequence) }
            expect(message.sequence, at: cohort)
        }
        work.touch(cohort)
    }

    /// Renders a message for one stream in the same way.
    private func deliver(_ message: RoutedMessage, to session: StreamSession) {
        guard let recipient = session.recipient, let cohort = session.cohort else { return }
        work.unwritten += 1
        if work.cost < (cohort.isHeavy ? limits.heavyBytes : limits.totalBytes) {
            guard let entry = encode(message, for: recipient) else { return }
            if !session.keep(entry) { leaveToStore(session, through: entry.sequence) }
            if !entry.isGap { expect(message.sequence, at: cohort) }
        } else {
            guard recipient.receives(message) else { return }
            leaveToStore(session, through: message.sequence)
            expect(message.sequence, at: cohort)
        }
        work.touch(cohort)
    }

    private func encode(_ message: RoutedMessage, for recipient: Recipient) -> CohortLog.Entry? {
        let entry = encoding.encode(message, for: recipient, cost: &work.cost)
        if entry?.isGap == true { host.noteOversize(message.id) }
        return entry
    }

    /// Writes to the next streams of the round; begins a round if none is under way.
    private func write() {
        if work.sessions.isEmpty {
            work.unwritten = 0
            work.beginRound()
        }
        let writes = min(work.isBehind ? Self.burstWrites : Self.sliceWrites, work.sessions.count)
        for session in work.sessions.suffix(writes) { advance(session) }
        work.sessions.removeLast(writes)
        guard work.sessions.isEmpty else { return }
        for cohort in work.round { tidy(cohort) }
        work.round = []
    }
}
