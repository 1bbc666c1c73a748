package import HubProtocol

/// All that one hub knows in memory, and what follows from each change: committed changes and events of this server go in,
/// commands for streams and small values for the requests come out.
///
/// The machine is pure: the same effects and inputs give the same commands. The server's writer drives it in the order of
/// the log.
package struct HubMachine: Sendable {
    private struct LiveStream {
        let id: StreamID
        let credential: Credential
    }

    /// Targets of a message with an identity tag that are looked up by name; of more, each open stream is asked.
    private static let maximumNamed = 1_024

    private let epochs: EpochHistory
    private let reserved: ReservedTagPrefixes
    private(set) var registry: Registry
    private var streams: [Ordinal: LiveStream] = [:]
    /// Streams on each event loop.
    private var streamCounts: [Int]
    private var commands: [[StreamCommand]]
    private var rules: AccessRules
    private var rulesRevision = 0
    private(set) var policy: HubPolicy
    /// Everything up to this sequence has come.
    private var head: LogSequence
    private var headChanged = false
    /// No message has a higher sequence.
    private var lastMessage: LogSequence
    private var droppedThrough: LogSequence
    /// The server stops: no more streams.
    private var isStopping = false
    private(set) var scheduled: ScheduledLoad
    /// Push services have something new to be sent.
    private var hasDeliveries = false
    /// How far streams are, to be written to the store.
    private(set) var progress: [Ordinal: StreamProgress] = [:]
    /// Messages whose counts in the store are to be corrected.
    private(set) var recounted: [LogSequence: RecipientCounts] = [:]

    /// Begins with what the store holds; `loops` is the number of event loops.
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
        self.policy = policy
        rules = AccessRules(hub: policy.rules, namespace: namespaceRules)
        self.scheduled = scheduled
        self.epochs = epochs
        self.reserved = reserved
        head = extent.top
        lastMessage = extent.top
        droppedThrough = extent.droppedThrough
        streamCounts = Array(repeating: 0, count: loops)
        commands = Array(repeating: [], count: loops)
    }

    /// The state that requests read without the writer.
    package var status: HubStatus {
        HubStatus(
            rules: rules,
            rulesRevision: rulesRevision,
            registrationLifetime: policy.registrationLifetime,
            isDisabled: policy.isDisabled,
            credentials: policy.credentials,
            head: head,
            droppedThrough: droppedThrough,
            scheduled: scheduled,
            listenUsage: registry.listenUsage,
            installationCounts: registry.installationCounts,
            registrationCounts: registry.registrationCounts,
            streamCount: streams.count
        )
    }

    /// True if an installation has an open stream.
    func hasStream(_ ordinal: Ordinal) -> Bool { streams[ordinal] != nil }

    /// Whether push services have something new to be sent since the last call.
    mutating func takeDeliveries() -> Bool {
        defer { hasDeliveries = false }
        return hasDeliveries
    }

    /// Commands for each event loop since the last call, ending with how far the hub is.
    package mutating func takeCommands() -> [[StreamCommand]] {
        if headChanged { for loop in commands.indices { commands[loop].append(.head(head)) } }
        headChanged = false
        defer { commands = Array(repeating: [], count: commands.count) }
        return commands
    }
}

// MARK: - Committed changes

extension HubMachine {
    package mutating func apply(_ effect: HubEffect) {
        switch effect {
        case .message(let message, let matched):
            recount(message, matched)
            noteMessage(message.sequence)
            route(message)
        case .unreadable(let sequence): noteMessage(sequence)
        case .delivery: hasDeliveries = true
        case .installation(let change): apply(change)
        case .targets(let changes): registry.apply(changes)
        case .policy(let policy):
            self.policy = policy
            take(AccessRules(hub: policy.rules, namespace: rules.namespace))
            if policy.isDisabled { endAll(.stopping) { _ in true } }
        case .scheduled(let bytes, let dueAt): scheduled.add(bytes, dueAt: dueAt)
        case .unscheduled(let messages, let bytes, let nextDue):
            scheduled.messages -= messages
            scheduled.bytes -= bytes
            scheduled.nextDue = nextDue
        case .recounted(let sequences):
            for sequence in sequences { recounted[sequence] = nil }
        }
    }

    /// All rows of the log up to a sequence were dropped.
    mutating func drop(through sequence: LogSequence) { droppedThrough = sequence }

    /// The hub was deleted.
    mutating func close() {
        isStopping = true
        endAll(.revoked) { _ in true }
    }

    private mutating func apply(_ change: InstallationEffect) {
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

    /// Streams that were opened with a key that is gone end.
    private mutating func take(_ rules: AccessRules) {
        rulesRevision += 1
        guard self.rules != rules else { return }
        self.rules = rules
        endAll(.revoked) { !rules.hold($0) }
    }

    private mutating func advance(to sequence: LogSequence) {
        head = max(head, sequence)
        headChanged = true
    }

    private mutating func noteMessage(_ sequence: LogSequence) {
        lastMessage = sequence
        advance(to: sequence)
    }

    /// Corrects what a message was stored with if registrations have changed before it in its own commit.
    private mutating func recount(_ message: RoutedMessage, _ stored: Matched) {
        guard let changes = stored.changes, registry.changes != changes else { return }
        let counts = registry.counts(of: message.expression, message.format)
        if counts != stored.counts { recounted[message.sequence] = counts }
    }

    /// Streams whose ordinary tags, templates and named push variables are equal get the same; a message that names an
    /// identity is matched for each stream.
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
        case .detached(let id, let ordinal, let written, let ending, let at):
            detached(id, of: ordinal, written: written, ending, at: at)
        case .progress(let reports): for report in reports { note(report) }
        case .progressFlushed(let flushed):
            for (ordinal, known) in flushed where progress[ordinal] == known { progress[ordinal] = nil }
        case .rulesObserved(let rules, let revision):
            if revision == rulesRevision, rules != self.rules { take(rules) }
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
        guard rules.hold(request.grant.credential) else { return refuse(.unauthorized(.invalidSignature)) }
        let resumption = epochs.resume(
            request.cursor,
            created: entry.createdSequence,
            top: head,
            droppedThrough: droppedThrough
        )
        let beginning = StreamBeginning(resumption, cursor: request.cursor)
        end(entry.ordinal, .replaced)
        streams[entry.ordinal] = LiveStream(id: request.id, credential: request.grant.credential)
        streamCounts[request.id.loop] += 1
        let attachment = StreamAttachment(
            ordinal: entry.ordinal,
            recipient: entry.recipient,
            beginning: beginning,
            through: head,
            needsReplay: beginning.after < lastMessage,
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
        report.disconnectedAt = isLast ? at : progress[ordinal]?.disconnectedAt
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

    /// Ends the streams that were opened with certain keys.
    private mutating func endAll(_ reason: StreamEnd, where isMeant: (Credential) -> Bool) {
        for ordinal in streams.keys.sorted() where streams[ordinal].map({ isMeant($0.credential) }) == true {
            end(ordinal, reason)
        }
    }
}

extension ProtocolError {
    package static let noInstallation = ProtocolError.notFound("Installation not found")
}

/// Small values of a hub that requests read without its writer, as they are after a batch of changes.
package struct HubStatus: Sendable {
    package let rules: AccessRules
    /// Counts the changes of ``rules``.
    package let rulesRevision: Int
    /// How long a registration lives after its last write; `nil` for ever.
    package let registrationLifetime: Duration?
    package let isDisabled: Bool
    package let credentials: [PlatformCredential]
    /// Streams have been handed everything up to this sequence.
    package let head: LogSequence
    package let droppedThrough: LogSequence
    package let scheduled: ScheduledLoad
    package let listenUsage: ListenUsage
    /// By platform, in lower case.
    package let installationCounts: [String: Int]
    /// Native and template ones, by platform in lower case.
    package let registrationCounts: [String: Int]
    package let streamCount: Int
}
