import HubProtocol
import HubStore
import Logging
import NIOCore
import Synchronization

/// A request for an installation's stream.
struct StreamRequest: Sendable {
    let installation: InstallationID
    let grant: Grant
    let channel: PushChannelSecret?
    /// `Last-Event-ID`: a position, else the beginning of what was sent; `nil` for none.
    let cursor: String?

    init(installation: InstallationID, grant: Grant, channel: PushChannelSecret?, lastEventID: String?) {
        self.installation = installation
        self.grant = grant
        self.channel = channel
        // It is kept, and told in a gap: what is no position of ours may be long.
        cursor = lastEventID.flatMap { $0.isEmpty ? nil : StreamPosition(parsing: $0)?.text ?? $0.excerpt }
    }
}

/// Where a stream begins, and what is said of what it misses.
private struct StreamBeginning {
    let after: Int64
    /// Why something may be missing before it.
    var gap: String?
    var loss: Loss?
    /// The sequence of a loss that the gap stands for too.
    var toldLoss: Int64?

    init(_ resumption: EpochHistory.Resumption) {
        switch resumption {
        case .resume(let sequence): after = sequence
        case .gap(let sequence, let reason, let loss):
            (after, gap, self.loss) = (sequence, reason, loss)
        case .strangeCursor(let sequence, let reason, let told):
            (after, gap, toldLoss) = (sequence, reason, told?.sequence)
        }
    }
}

extension Hub {
    /// Lets a session in at its place in the log; the answer goes to the session's output.
    func attach(_ session: StreamSession, loop: Int, _ request: StreamRequest) {
        writer.post {
            // Nobody hands on what a deleted hub would say.
            guard !self.writer.isClosed else {
                let refusal = StreamLoop.Command.refuse(session, .noHub(self.record.name.text))
                return session.loop.eventLoop.execute { session.loop.apply([refusal]) }
            }
            self.state.withLock { state in self.attach(session, loop: loop, request, &state) }
        }
    }

    private func attach(_ session: StreamSession, loop: Int, _ request: StreamRequest, _ state: inout State) {
        guard
            let entry = state.registry[request.installation],
            request.grant.mayManage || request.channel?.matches(digest: entry.channelDigest) == true
        else { return state.broadcast.refuse(session, loop: loop, .noInstallation) }
        guard !state.isStopping else {
            return state.broadcast.refuse(session, loop: loop, .unavailable("The hub is stopping; try again shortly."))
        }
        guard !state.isDisabled else {
            return state.broadcast.refuse(session, loop: loop, .unavailable("The hub is disabled."))
        }
        guard state.rules.hold(request.grant.credential) else {
            return state.broadcast.refuse(session, loop: loop, .unauthorized(.invalidSignature))
        }
        let resumption = epochs.resume(
            request.cursor,
            created: entry.createdSequence,
            top: state.head,
            droppedThrough: state.droppedThrough
        )
        let beginning = StreamBeginning(resumption)
        var prelude = EventEncoding.retry
        if let reason = beginning.gap {
            counters.gaps.add(1)
            prelude.writeImmutableBuffer(
                encoding.gap(
                    after: request.cursor,
                    resumesAfter: beginning.after,
                    reason: reason,
                    loss: beginning.loss
                )
            )
        }
        let after = beginning.after
        state.broadcast.attach(
            session,
            loop: loop,
            entry: entry,
            grant: request.grant,
            after: after,
            through: state.head,
            needsReplay: after < state.lastMessage,
            toldLoss: beginning.toldLoss,
            prelude: prelude
        )
        var progress = state.progress[entry.ordinal] ?? StreamProgress(ordinal: entry.ordinal, written: after)
        progress.resumedFrom = request.cursor
        progress.connectedAt = configuration.nowMilliseconds
        progress.disconnectedAt = nil
        state.progress[entry.ordinal] = progress
    }

    /// Ends all streams and lets no more in, as the hub stops.
    ///
    /// It happens in the order of the log, so that none that was let in before is missed.
    func endStreams() async {
        await writer.inOrder {
            self.state.withLock { state in
                state.isStopping = true
                state.broadcast.endAll(.stopping) { _ in true }
            }
        }
    }

    /// Forgets a session that has ended, and notes how far it was written.
    func detached(_ session: StreamSession, ordinal: Int64, written: Int64) {
        let ending = session.ending
        writer.post {
            self.state.withLock { state in
                let isLast = !state.broadcast.hasStream(ordinal, otherThan: session)
                state.broadcast.detached(session, of: ordinal)
                guard state.registry[ordinal] != nil else { return }
                state.noteProgress(ordinal, written: written)
                let now = self.configuration.nowMilliseconds
                if isLast { state.progress[ordinal]?.disconnectedAt = now }
                switch ending {
                case .replaced: state.progress[ordinal]?.replacedAt = now
                case .revoked: state.progress[ordinal]?.revokedAt = now
                case .stopping, .expired, nil: break
                }
            }
        }
    }

    func noteProgress(_ written: [(ordinal: Int64, written: Int64)]) {
        state.withLock { state in
            for (ordinal, sequence) in written { state.noteProgress(ordinal, written: sequence) }
        }
    }

    /// Writes to the store how far streams are; what could not be written stays for the next time.
    func flushProgress() async throws {
        let batch = state.withLock { $0.progress }
        guard !batch.isEmpty else { return }
        try await writer.perform(bytes: 0) { transaction in
            for progress in batch.values { try transaction.note(progress) }
        } apply: { _ in
            self.state.withLock { state in
                for (ordinal, written) in batch where state.progress[ordinal] == written {
                    state.progress[ordinal] = nil
                }
            }
        }
    }

    /// Takes over rules that somebody else has written into the file, unless they have changed here since `looked`, which
    /// is the ``State/rulesChanges`` from before they were read.
    func adopt(_ rules: AccessRules, looked: Int) {
        guard accessRules != rules else { return }
        writer.post {
            let isNews = self.state.withLock { state in
                guard state.rulesChanges == looked, state.rules != rules else { return false }
                state.take(rules)
                return true
            }
            guard isNews else { return }
            self.logger.notice("access rules have changed", metadata: ["hub.name": "\(self.record.name)"])
        }
    }

    /// Takes over what is said of the hub now, in the order of the log: streams that were opened with a key that is gone
    /// end at once, and all of them when the hub was disabled.
    func take(_ stored: StoredHub) {
        state.withLock { state in
            state.take(AccessRules(hub: stored.rules, namespace: state.rules.namespace))
            state.registrationLifetime = stored.description.registrationTimeToLive.duration
            state.isDisabled = stored.description.isDisabled ?? false
            if state.isDisabled { state.broadcast.endAll(.stopping) { _ in true } }
        }
    }

    /// Ends all streams and takes nothing more: the hub was deleted, in the order of the log.
    func close() {
        writer.close()
        state.withLock { state in
            state.isStopping = true
            state.broadcast.endAll(.revoked) { _ in true }
        }
    }

    /// What the event loops are to do since the last call.
    func takeCommands() -> [[StreamLoop.Command]] {
        state.withLock { state in
            defer { state.headChanged = false }
            return state.broadcast.takeCommands(head: state.headChanged ? state.head : nil)
        }
    }
}

extension Hub.State {
    /// Streams that were opened with a key that is gone end.
    fileprivate mutating func take(_ rules: AccessRules) {
        rulesChanges += 1
        guard self.rules != rules else { return }
        self.rules = rules
        broadcast.endAll(.revoked) { !rules.hold($0) }
    }

    fileprivate mutating func noteProgress(_ ordinal: Int64, written: Int64) {
        progress[ordinal, default: StreamProgress(ordinal: ordinal, written: written)].raise(to: written)
    }
}

extension StreamProgress {
    fileprivate mutating func raise(to sequence: Int64) { written = max(written, sequence) }
}

// MARK: - Replay

extension Hub {
    /// Messages that one page reads.
    static let pageMessages = 256
    /// Encoded bytes after which a page ends.
    static let pageBytes = 256 << 10
    /// Bytes that rendering may cost before a page ends: renderings that are too large give few bytes.
    static let pageCost = 1 << 20

    static let unreadable = "the hub cannot read what it kept"
    static let forgotten = "the choice was changed too often to keep what was wanted then"

    /// What an installation is owed after a place in the log.
    ///
    /// Each message is matched against the row that was in force at its sequence, by the same code as live delivery.
    /// A gap stands for what was dropped while the stream was on its way, for what a restore lost, and for what cannot be
    /// read: it must not keep the stream from what comes after it.
    func page(_ request: StreamLoop.PageRequest) async throws -> StreamLoop.Page {
        let owed = try await store.owedMessages(
            hub: record.id,
            ordinal: request.ordinal,
            after: request.after,
            through: request.through,
            limit: Self.pageMessages
        )
        var page = OwedPage(after: request.after, encoding: encoding)
        defer { counters.gaps.add(page.gaps) }
        if owed.droppedThrough > request.after {
            page.lose(through: owed.droppedThrough, reason: EpochHistory.tooOld)
        }
        var losses = epochs.losses.filter { loss in
            // An installation that was made after the restore lost nothing.
            loss.sequence > max(request.after, owed.droppedThrough, owed.createdSequence ?? .max)
                && loss.sequence <= request.through && loss.sequence != request.toldLoss
        }[...]
        func passLosses(before sequence: Int64) {
            while let loss = losses.first, loss.sequence < sequence {
                page.append(encoding.gap(loss))
                losses.removeFirst()
            }
        }
        var inForce: (row: OwedRow, recipient: Result<Recipient, any Error>)?
        var cost = 0
        for logged in owed.messages {
            passLosses(before: logged.sequence)
            guard let row = owed.rows.inForce(at: logged.sequence) else {
                if let created = owed.createdSequence, logged.sequence > created {
                    page.lose(through: logged.sequence, reason: Self.forgotten)
                }
                continue
            }
            if inForce?.row.afterSequence != row.afterSequence {
                inForce = (row, Result { try Recipient(row.installation) })
            }
            do {
                let routed = try RoutedMessage(logged)
                if let recipient = try inForce?.recipient.get(),
                    let entry = encoding.encode(routed, for: recipient, cost: &cost)
                {
                    if entry.isGap { noteOversize(routed.id) }
                    page.append(entry)
                }
            } catch {
                noteUnreadable(logged, error)
                page.lose(through: logged.sequence, reason: Self.unreadable)
            }
            page.pass(to: logged.sequence)
            if page.bytes.readableBytes >= Self.pageBytes || cost >= Self.pageCost { return page.finished() }
        }
        if owed.messages.count < Self.pageMessages {
            passLosses(before: .max)
            page.pass(to: request.through)
        }
        return page.finished()
    }

    func noteUnreadable(_ logged: LoggedMessage, _ error: any Error) {
        let isFirst = state.withLock { state in
            defer { state.hasSaidUnreadable = true }
            return !state.hasSaidUnreadable
        }
        guard isFirst else { return }
        logger.error(
            "a message, or what an installation wanted when it came, cannot be read: streams are told of a gap",
            metadata: ["log.sequence": "\(logged.sequence)", "error.reason": "\(error)"]
        )
    }
}
