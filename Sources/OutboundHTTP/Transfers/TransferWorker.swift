import CCurl
import Synchronization

/// Runs transfers on libcurl's multi interface until it has been idle for a while or the loop is closed.
///
/// Confined to its own thread from ``run()`` on.
final class TransferWorker {
    private let multi: UnsafeMutableRawPointer
    private let loop: TransferLoop
    private let limits: TransferLoop.Limits
    private let clock = ContinuousClock()

    /// Transfers that wait or run.
    private var unfinished: [ObjectIdentifier: Transfer] = [:]
    private var ended: [(Transfer, CURLcode)] = []
    /// Answers to requests of batches that have not been passed on yet.
    private var answers: [BatchAnswer] = []
    private var openStreams = 0
    private let admission: Admission<Transfer>
    private var idleSessions: [EasySession] = []
    private let corks: SocketCorks
    private let multiplexer: Multiplexer

    /// Time before which no transfer is overdue.
    private var nextDeadline: ContinuousClock.Instant?
    private var idleSince: ContinuousClock.Instant

    init(multi: UnsafeMutableRawPointer, loop: TransferLoop, limits: TransferLoop.Limits) {
        self.multi = multi
        self.loop = loop
        self.limits = limits
        self.admission = Admission(
            maximumConnections: limits.maximumConnections,
            maximumConnectionsPerOrigin: limits.maximumConnectionsPerOrigin,
            maximumStreamsPerOrigin: limits.streamsPerConnection * limits.multiplexedConnectionsPerOrigin
        )
        self.multiplexer = Multiplexer(loop, limits)
        self.idleSince = clock.now
        ccurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, limits.streamsPerConnection)
        // Open streams would count; a client that shares connections has no streams.
        let sharesConnections = limits.multiplexedConnectionsPerOrigin > 1
        corks = SocketCorks(isOn: sharesConnections)
        if sharesConnections {
            ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limits.multiplexedConnectionsPerOrigin)
            // Idle connections count too: a new one to another host closes the oldest of them.
            ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.maximumConnections)
        }
        setKeptConnections()
    }

    func run() {
        while true {
            let mail = loop.takeMail()
            for command in mail.commands { obey(command) }
            if mail.isClosed { return close() }
            startAdmitted()
            perform()
            advanceBatches()
            expireOverdue()
            deliverAnswers()
            if isIdle, clock.now - idleSince >= limits.idleLifetime, loop.releaseIdleWorker() {
                return free()
            }
            var sockets = multiplexer.descriptors
            let code = curl_multi_poll(multi, &sockets, UInt32(sockets.count), Int32(waitMilliseconds()), nil)
            if code != CURLM_OK { failAll(code) }
        }
    }

    private func obey(_ command: TransferLoop.Command) {
        switch command {
        case .start(let transfer): admit(transfer)
        case .startBatch(let batch):
            if !multiplexer.start(batch) { for transfer in batch.transfers { admit(transfer) } }
        case .cancel(let transfer):
            if unfinished[ObjectIdentifier(transfer)] != nil { finish(transfer, .cancelled) }
        case .boundRest(let transfer):
            let limit = clock.now.advanced(by: Self.restTimeout)
            transfer.deadline = min(transfer.deadline ?? limit, limit)
            noteDeadline(transfer.deadline)
        case .opened(let opening): multiplexer.opened(opening)
        case .resume(let transfer):
            guard let session = transfer.session else { return }
            transfer.resume()
            noteDeadline(nextIdleLook(transfer))
            let code = ccurl_resume(session.easy)
            if code != CURLE_OK { finish(transfer, transfer.error(code)) }
        }
    }

    private func admit(_ transfer: Transfer) {
        unfinished[ObjectIdentifier(transfer)] = transfer
        noteDeadline(transfer.deadline)
        guard transfer.plan.options.isStream else {
            return admission.enqueue(transfer, origin: transfer.plan.address.origin)
        }
        openStreams += 1
        setKeptConnections()
        if openStreams > Self.maximumStreams {
            finish(transfer, .badRequest(reason: "more than \(Self.maximumStreams) streams at once"))
        } else {
            begin(transfer)
        }
    }

    private func startAdmitted() {
        while let transfer = admission.next() {
            if transfer.isFinished {
                admission.finish(origin: transfer.plan.address.origin, isMultiplexed: nil)
            } else {
                begin(transfer)
            }
        }
    }

    private func begin(_ transfer: Transfer) {
        transfer.isAdmitted = true
        guard let session = idleSessions.popLast() ?? EasySession() else {
            return finish(
                transfer,
                .unreachable(host: transfer.plan.address.displayHost, reason: "out of memory")
            )
        }
        do throws(OutboundError) {
            try session.prepare(for: transfer, corks: corks)
            transfer.session = session
            transfer.live = corks.live
            transfer.beganAt = clock.now
            if let limit = transfer.plan.streamTimeout {
                transfer.deadline = clock.now.advanced(by: limit)
                noteDeadline(transfer.deadline)
            }
            let code = curl_multi_add_handle(multi, session.easy)
            if code != CURLM_OK { finish(transfer, transfer.error(code)) }
            noteDeadline(nextIdleLook(transfer))
        } catch {
            finish(transfer, error)
        }
    }

    private func perform() {
        var count: Int32 = 0
        corks.cork()
        let code = curl_multi_perform(multi, &count)
        corks.uncork()
        guard code == CURLM_OK else { return failAll(code) }
        // Read all messages first: to remove a handle, libcurl searches those that are still unread.
        while let message = curl_multi_info_read(multi, &count) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = EasySession.transfer(of: easy)
            else { continue }
            ended.append((transfer, ccurl_message_result(message)))
        }
        for (transfer, result) in ended { finish(transfer, transfer.error(result)) }
        ended.removeAll(keepingCapacity: true)
        startAdmitted()
    }

    private func finish(_ transfer: Transfer, _ error: OutboundError?) {
        guard unfinished.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
        let isMultiplexed = transfer.hasHead ? transfer.session?.isMultiplexed : nil
        if let session = transfer.session {
            curl_multi_remove_handle(multi, session.easy)
            transfer.session = nil
            keep(session)
        }
        if transfer.plan.options.isStream {
            openStreams -= 1
            setKeptConnections()
        } else if transfer.isAdmitted {
            admission.finish(origin: transfer.plan.address.origin, isMultiplexed: isMultiplexed)
        }
        if isIdle { idleSince = clock.now }
        transfer.finish(error)
        if let answer = transfer.answer { answers.append(answer) }
    }

    /// Lets the requests over HTTP/2 go on; those to hosts without it become transfers.
    private func advanceBatches() {
        let wasIdle = isIdle
        for request in multiplexer.advance() {
            let part = Transfer.Part(batch: request.work.batch, place: request.place, target: request.target)
            admit(Transfer(request.work.plan, part))
        }
        startAdmitted()
        answers += multiplexer.takeAnswers()
        if isIdle, !wasIdle { idleSince = clock.now }
    }

    private var isIdle: Bool { unfinished.isEmpty && multiplexer.isIdle }

    private func deliverAnswers() {
        guard !answers.isEmpty else { return }
        let delivered = answers
        answers = []
        TransferBatch.deliver(delivered)
    }

    /// Keeps a handle for later transfers; each takes about 10 KB, so most are freed after a burst.
    private func keep(_ session: EasySession) {
        session.rest()
        if idleSessions.count < Self.maximumIdleSessions { idleSessions.append(session) }
        if unfinished.isEmpty, idleSessions.count > Self.keptSessions {
            idleSessions.removeLast(idleSessions.count - Self.keptSessions)
        }
    }

    /// Sets the number of connections that libcurl keeps; open streams count and must not displace the others.
    private func setKeptConnections() {
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limits.maximumConnections + openStreams)
    }

    private func failAll(_ code: CURLMcode) {
        for transfer in Array(unfinished.values) { finish(transfer, transfer.error(code)) }
    }

    private func close() {
        for transfer in Array(unfinished.values) { finish(transfer, .shutDown) }
        multiplexer.close()
        answers += multiplexer.takeAnswers()
        idleSessions = []
        let late = loop.releaseClosedWorker()
        curl_multi_cleanup(multi)
        deliverAnswers()
        for command in late {
            switch command {
            case .start(let transfer): transfer.finish(.shutDown)
            case .startBatch(let batch): batch.fail(.shutDown)
            case .cancel, .resume, .boundRest, .opened: break
            }
        }
        loop.announceRelease()
    }

    private func free() {
        multiplexer.close()
        idleSessions = []
        curl_multi_cleanup(multi)
    }

    /// Handles to keep while there are transfers.
    private static let maximumIdleSessions = 512
    /// Handles to keep while there are none.
    private static let keptSessions = 16

    /// Streams of one client at the same time; their connections do not count for ``TransferLoop/Limits``.
    private static let maximumStreams = 10_000
}

// MARK: - Time

extension TransferWorker {
    private func noteDeadline(_ deadline: ContinuousClock.Instant?) {
        guard let deadline else { return }
        nextDeadline = min(nextDeadline ?? deadline, deadline)
    }

    /// Returns the end of the allowed silence; `nil` if the peer is not responsible for the silence.
    private func idleDeadline(_ transfer: Transfer) -> ContinuousClock.Instant? {
        guard let idle = transfer.plan.idleTimeout, let last = transfer.lastActivity, !transfer.isPaused else {
            return nil
        }
        return last.advanced(by: idle)
    }

    /// Returns the time to check a transfer again; without a connection the silence may begin now.
    private func nextIdleLook(_ transfer: Transfer) -> ContinuousClock.Instant? {
        guard let idle = transfer.plan.idleTimeout, transfer.session != nil, !transfer.isPaused else { return nil }
        return (transfer.lastActivity ?? clock.now).advanced(by: idle)
    }

    /// Ends overdue transfers.
    ///
    /// Activity only moves deadlines to later, so checking at the earliest one is enough.
    private func expireOverdue() {
        let now = clock.now
        guard let due = nextDeadline, due <= now else { return }
        nextDeadline = nil
        for transfer in Array(unfinished.values) {
            if let deadline = transfer.deadline, deadline <= now {
                noteTimeout(transfer)
                let total = transfer.plan.totalTimeout ?? Self.restTimeout
                finish(transfer, transfer.timedOut(after: transfer.session == nil ? transfer.plan.waitLimit : total))
            } else if let deadline = idleDeadline(transfer), deadline <= now {
                noteTimeout(transfer)
                finish(transfer, transfer.timedOut(after: transfer.plan.idleTimeout ?? .zero))
            } else {
                noteDeadline(transfer.deadline)
                noteDeadline(nextIdleLook(transfer))
            }
        }
    }

    private func noteTimeout(_ transfer: Transfer) {
        guard let connection = transfer.connection, let beganAt = transfer.beganAt else { return }
        corks.live.noteTimeout(connection, begunAt: beganAt)
    }

    private func waitMilliseconds() -> Int {
        let now = clock.now
        var wait = Self.longestWait
        if multiplexer.hasMore { return 0 }
        for deadline in [nextDeadline, multiplexer.nextDeadline].compactMap(\.self) { wait = min(wait, deadline - now) }
        if isIdle { wait = min(wait, limits.idleLifetime - (now - idleSince)) }
        return max(0, wait.milliseconds + 1)
    }

    /// Time for the rest of a stream that turned out to be a short reply.
    private static let restTimeout = Duration.seconds(10)

    /// Longest sleep of the thread; without deadlines only events wake it.
    private static let longestWait = Duration.seconds(3_600)
}
