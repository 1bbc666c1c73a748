package import HubProtocol

/// The in-memory state of one hub: turns committed changes and stream events into commands and status values.
///
/// The machine is pure: the same effects and inputs produce the same commands. The server's writer drives it in log
/// order.
package struct HubMachine: Sendable {
    private struct LiveStream {
        let id: StreamID
        let credential: Credential
        let stamp: UInt64
        let openedAt: Timestamp
    }

    /// The age from which a stream ends when its installation opens one at another node, whatever the stamps: after a
    /// restart a newer stream can have a lower stamp.
    private static let settled = Duration.seconds(2)

    /// Maximum number of targets that a message with an identity tag looks up by name; above it, each open stream is
    /// checked.
    private static let maximumNamed = 1_024

    private let epochs: EpochHistory
    private let reserved: ReservedTagPrefixes
    package private(set) var registry: Registry
    private var streams: [Ordinal: LiveStream] = [:]
    /// Number of streams on each event loop.
    private var streamCounts: [Int]
    private var commands: [[StreamCommand]]
    /// The status, but for the numbers of the registry and of streams.
    private var state: HubStatus
    private var headChanged = false
    /// True once the server is stopping, when no more streams are accepted.
    private var isStopping = false
    /// True if push services have new deliveries.
    private var hasDeliveries = false
    /// Streams with stamps that were attached since the last call of ``takeAttached()``.
    private var attached: [AttachedStream] = []
    /// Progress of streams that the store does not have yet.
    package private(set) var progress: [Ordinal: StreamProgress] = [:]
    /// The same of streams at other nodes.
    package private(set) var progressElsewhere: [Ordinal: StreamProgress] = [:]
    /// Messages whose stored counts must be corrected.
    package private(set) var recounted: [LogSequence: RecipientCounts] = [:]

    /// Starts with the stored state; `loops` is the number of event loops.
    package init(
        policy: HubPolicy,
        namespaceRules: [AccessRule],
        registry: consuming Registry = Registry(),
        scheduled: ScheduledLoad = .none,
        extent: LogExtent,
        epochs: EpochHistory,
        reserved: ReservedTagPrefixes,
        loops: Int
    ) {
        registry.finishLoading()
        self.registry = registry
        state = HubStatus(
            rules: AccessRules(hub: policy.rules, namespace: namespaceRules),
            policy: policy,
            head: extent.top,
            lastMessage: extent.top,
            droppedThrough: extent.droppedThrough,
            scheduled: scheduled
        )
        self.epochs = epochs
        self.reserved = reserved
        streamCounts = Array(repeating: 0, count: loops)
        commands = Array(repeating: [], count: loops)
    }

    /// The state that requests read without the writer.
    package var status: HubStatus {
        var status = state
        status.listenUsage = registry.listenUsage
        status.installationCounts = registry.installationCounts
        status.registrationCounts = registry.registrationCounts
        status.streamCount = streams.count
        return status
    }

    package var policy: HubPolicy { state.policy }
    package var scheduled: ScheduledLoad { state.scheduled }

    /// The number of a message's recipients.
    package func matched(by expression: TagExpression?, _ format: MessageFormat = .template) -> Matched {
        Matched(counts: registry.counts(of: expression, format), changes: registry.changes)
    }

    /// True if an installation has an open stream.
    package func hasStream(_ ordinal: Ordinal) -> Bool { streams[ordinal] != nil }

    /// Returns true if push services have new deliveries since the last call.
    mutating func takeDeliveries() -> Bool {
        defer { hasDeliveries = false }
        return hasDeliveries
    }

    /// Returns the streams with stamps that were attached since the last call.
    mutating func takeAttached() -> [AttachedStream] {
        defer { attached = [] }
        return attached
    }

    /// Returns the commands for each event loop since the last call, ending with the hub's head.
    package mutating func takeCommands() -> [[StreamCommand]] {
        if headChanged { for loop in commands.indices { commands[loop].append(.head(state.head)) } }
        headChanged = false
        defer { commands = Array(repeating: [], count: commands.count) }
        return commands
    }
}

// MARK: - Committed changes

extension HubMachine {
    /// Routes a message to the streams that it matches, and counts its recipients again if the registry has changed since
    /// `matched` was counted.
    package mutating func receive(_ message: RoutedMessage, _ matched: Matched) {
        recount(message, matched)
        noteMessage(message.sequence)
        route(message)
    }

    /// Records the sequence of a message.
    package mutating func noteMessage(_ sequence: LogSequence) {
        state.lastMessage = sequence
        advance(to: sequence)
    }

    /// Records that push services have new deliveries.
    package mutating func noteDelivery() { hasDeliveries = true }

    /// Changes registrations that belong to no installation.
    package mutating func apply(_ changes: [TargetChange]) { registry.apply(changes) }

    /// Replaces the policy, and ends the streams that it no longer permits.
    package mutating func setPolicy(_ policy: HubPolicy) {
        state.policy = policy
        take(AccessRules(hub: policy.rules, namespace: state.rules.namespace))
        if policy.isDisabled { endAll(.stopping) { _ in true } }
    }

    /// Records that the stored counts of messages have been corrected.
    package mutating func noteRecounted(_ sequences: [LogSequence]) {
        for sequence in sequences { recounted[sequence] = nil }
    }

    /// Counts a change of the announced categories.
    package mutating func noteCategories() { state.categoryRevision += 1 }

    /// Counts a report of a publisher.
    package mutating func noteReport() { state.reportRevision += 1 }

    /// Adds a message that waits for its time.
    package mutating func schedule(bytes: Int, dueAt: Timestamp) { state.scheduled.add(bytes, dueAt: dueAt) }

    /// Removes messages that no longer wait; `nextDue` is the time of the next one.
    package mutating func unschedule(messages: Int, bytes: Int, nextDue: Timestamp?) {
        state.scheduled.remove(messages: messages, bytes: bytes, nextDue: nextDue)
    }

    /// Changes the machine in place; the value of a dictionary cannot be passed on as `inout` otherwise.
    mutating func change(_ body: (inout HubMachine) -> Void) { body(&self) }

    /// Records that all rows of the log up to a sequence were dropped.
    mutating func drop(through sequence: LogSequence) { state.droppedThrough = sequence }

    /// Closes the machine of a deleted hub.
    mutating func close() {
        isStopping = true
        endAll(.revoked) { _ in true }
    }

    /// Puts or removes an installation, with its registrations.
    package mutating func apply(_ change: InstallationEffect) {
        if !change.targets.isEmpty { registry.apply(change.targets) }
        if !change.replaced.isEmpty { registry.apply(change.replaced) }
        if let entry = change.entry { registry.put(entry) } else { registry.remove(stream: change.ordinal) }
        if change.endsStream { end(change.ordinal, .revoked) }
        guard let sequence = change.sequence else { return }
        if let entry = change.entry, let stream = streams[entry.ordinal] {
            commands[stream.id.loop].append(.move(stream.id, entry.recipient, at: sequence))
        }
        advance(to: sequence)
    }

    /// Applies new rules, and ends streams that were opened with a removed key.
    private mutating func take(_ rules: AccessRules) {
        state.rulesRevision += 1
        guard state.rules != rules else { return }
        state.rules = rules
        endAll(.revoked) { !rules.hold($0) }
    }

    private mutating func advance(to sequence: LogSequence) {
        state.head = max(state.head, sequence)
        headChanged = true
    }

    /// Corrects the stored count of a message if registrations changed before it in its own commit.
    private mutating func recount(_ message: RoutedMessage, _ stored: Matched) {
        guard let changes = stored.changes, registry.changes != changes else { return }
        let counts = registry.counts(of: message.expression, message.format)
        if counts != stored.counts { recounted[message.sequence] = counts }
    }

    /// Routes a message to cohorts, or to single streams if it names an identity.
    ///
    /// Streams with equal ordinary tags, templates and named push variables form a cohort, because they get the same
    /// events.
    private mutating func route(_ message: RoutedMessage) {
        guard !streams.isEmpty, message.isForStreams else { return }
        guard message.namesIdentity(reserved) else { return tellLoops(.publish(message)) }
        guard let named = registry.streams(for: message, limit: Self.maximumNamed) else {
            return tellLoops(.deliver(message, to: nil))
        }
        let ids = Dictionary(grouping: named.sorted().compactMap { streams[$0]?.id }, by: \.loop)
        for (loop, ids) in ids { commands[loop].append(.deliver(message, to: ids)) }
    }

    private mutating func tellLoops(_ command: StreamCommand) {
        for (loop, count) in streamCounts.enumerated() where count > 0 { commands[loop].append(command) }
    }
}

// MARK: - Streams

extension HubMachine {
    package mutating func apply(_ input: StreamInput) {
        switch input {
        case .attach(let request): attach(request)
        case .refused(let id, let error): commands[id.loop].append(.refuse(id, error))
        case .openedElsewhere(let ordinal, let stamp, let at):
            guard let stream = streams[ordinal], stamp > stream.stamp || at - stream.openedAt > Self.settled else {
                break
            }
            end(ordinal, .replaced)
        case .detached(let id, let ordinal, let written, let ending, let at):
            detached(id, of: ordinal, written: written, ending, at: at)
        case .progress(let reports): for report in reports { note(report) }
        case .progressElsewhere(let reports):
            for report in reports where registry[report.ordinal] != nil {
                progressElsewhere[report.ordinal] = .latest(progressElsewhere[report.ordinal], report)
            }
        case .progressFlushed(let flushed, let elsewhere):
            for (ordinal, known) in flushed where progress[ordinal] == known { progress[ordinal] = nil }
            for (ordinal, known) in elsewhere where progressElsewhere[ordinal] == known {
                progressElsewhere[ordinal] = nil
            }
        case .rulesObserved(let rules, let revision):
            if revision == state.rulesRevision, rules != state.rules { take(rules) }
        case .cutOff: endAll(.stopping) { _ in true }
        case .stopping:
            isStopping = true
            endAll(.stopping) { _ in true }
        }
    }

    private mutating func attach(_ request: StreamRequest) {
        func refuse(_ error: ProtocolError) { commands[request.id.loop].append(.refuse(request.id, error)) }
        guard
            let entry = registry[request.installation],
            request.grant.mayManage || request.channel?.matches(digest: entry.channelDigest) == true
        else { return refuse(.noInstallation) }
        if isStopping { return refuse(.stopping) }
        if policy.isDisabled { return refuse(.unavailable("The hub is disabled.")) }
        guard state.rules.hold(request.grant.credential) else { return refuse(.unauthorized(.invalidSignature)) }
        let resumption = epochs.resume(
            request.cursor,
            created: entry.createdSequence,
            top: state.head,
            droppedThrough: state.droppedThrough
        )
        let beginning = StreamBeginning(resumption, cursor: request.cursor)
        end(entry.ordinal, .replaced)
        streams[entry.ordinal] = LiveStream(
            id: request.id,
            credential: request.grant.credential,
            stamp: request.stamp,
            openedAt: request.at
        )
        if request.stamp > 0 { attached.append(AttachedStream(ordinal: entry.ordinal, stamp: request.stamp)) }
        streamCounts[request.id.loop] += 1
        let attachment = StreamAttachment(
            ordinal: entry.ordinal,
            recipient: entry.recipient,
            beginning: beginning,
            through: state.head,
            needsReplay: beginning.after < state.lastMessage,
            validUntil: request.grant.validUntil
        )
        commands[request.id.loop].append(.attach(request.id, attachment))
        var known = progress[entry.ordinal] ?? StreamProgress(ordinal: entry.ordinal, written: beginning.after)
        known.resumedFrom = request.cursor
        known.connectedAt = request.at
        known.disconnectedAt = nil
        progress[entry.ordinal] = known
    }

    private mutating func detached(
        _ id: StreamID,
        of ordinal: Ordinal,
        written: LogSequence,
        _ ending: StreamEnd?,
        at: Timestamp
    ) {
        let isLast = streams[ordinal].map { $0.id == id } ?? true
        if isLast { forget(ordinal) }
        guard registry[ordinal] != nil else { return }
        var report = StreamProgress(ordinal: ordinal, written: written)
        // One that was replaced is open, here or at another node.
        report.disconnectedAt = isLast && ending != .replaced ? at : progress[ordinal]?.disconnectedAt
        switch ending {
        case .replaced: report.replacedAt = at
        case .revoked: report.revokedAt = at
        case .stopping, .expired, nil: break
        }
        note(report)
    }

    private mutating func note(_ report: StreamProgress) {
        var report = report
        report.written = max(report.written, progress[report.ordinal]?.written ?? 0)
        progress[report.ordinal] = StreamProgress.merged(progress[report.ordinal], report)
    }

    private mutating func end(_ ordinal: Ordinal, _ reason: StreamEnd) {
        guard let stream = forget(ordinal) else { return }
        commands[stream.id.loop].append(.end(stream.id, reason))
    }

    @discardableResult
    private mutating func forget(_ ordinal: Ordinal) -> LiveStream? {
        guard let stream = streams.removeValue(forKey: ordinal) else { return nil }
        streamCounts[stream.id.loop] -= 1
        return stream
    }

    /// Ends the streams that were opened with matching keys.
    private mutating func endAll(_ reason: StreamEnd, where isMeant: (Credential) -> Bool) {
        for ordinal in streams.keys.sorted() where streams[ordinal].map({ isMeant($0.credential) }) == true {
            end(ordinal, reason)
        }
    }
}

/// A stream that ends an older one of its installation at other nodes.
package struct AttachedStream: Sendable, Equatable {
    package let ordinal: Ordinal
    package let stamp: UInt64
}

extension ProtocolError {
    package static let noInstallation = ProtocolError.notFound("Installation not found")
}

/// Values of a hub that requests read without its writer, updated after each batch of changes.
package struct HubStatus: Sendable {
    package fileprivate(set) var rules: AccessRules
    /// Number of changes of ``rules``.
    package fileprivate(set) var rulesRevision = 0
    package fileprivate(set) var policy: HubPolicy
    /// Streams have been sent everything up to this sequence.
    package fileprivate(set) var head: LogSequence
    /// The sequence of the last message since the start, or the end of the log at the start: no message comes after it.
    package fileprivate(set) var lastMessage: LogSequence
    package fileprivate(set) var droppedThrough: LogSequence
    package fileprivate(set) var scheduled: ScheduledLoad
    package fileprivate(set) var listenUsage = ListenUsage()
    /// By platform.
    package fileprivate(set) var installationCounts: [Platform: Int] = [:]
    /// Native and template registrations, by platform.
    package fileprivate(set) var registrationCounts: [Platform: Int] = [:]
    package fileprivate(set) var streamCount = 0
    /// Number of changes of the announced categories since the start.
    package fileprivate(set) var categoryRevision = 0
    /// Number of publishers' reports since the start.
    package fileprivate(set) var reportRevision = 0

    /// The lifetime of a registration after its last write; `nil` means forever.
    package var registrationLifetime: Duration? { policy.registrationLifetime }
    package var isDisabled: Bool { policy.isDisabled }
    package var credentials: [PlatformCredential] { policy.credentials }
}
