import FoundationEssentials
import HostSystem
import HubClient
import HubProtocol
import Logging
import ServerSentEvents
import Signals
import SQLiteFiles

/// Registers, reads the event stream into the inbox, and reconnects whenever the stream ends.
struct StreamReceiver {
    /// Time between two writes of a cursor that only heartbeats have moved.
    static let cursorInterval = Duration.seconds(5)
    /// Number of consecutive refusals of the stream with 404, each after the hub had accepted the installation, after
    /// which the agent stops with an error.
    static let maximumUnknown = 3

    /// The work beside the stream, with what both use.
    let backend: BackendWork
    let logger: Logger
    /// Called when a stream has opened.
    let onListening: @Sendable () -> Void

    var backoff = Backoff()
    var presence = HubPresence()
    var mustRegister: Bool
    /// The pause that the hub asked for before this receiver began.
    private var firstWait: Duration?
    private var wasRevoked = false
    /// The user for whom the last stream was opened.
    private var streamUser: String?
    var unknownInRow = 0
    var hasSaidClock = false
    /// True if the hub has refused a cursor of this run.
    var hasDroppedCursor = false
    private var renewal = RegistrationRenewal()
    /// True if the agent has just registered, and has not opened a stream since.
    private var isJustRegistered: Bool
    /// A position that only heartbeats have reported.
    var unsavedCursor: String?
    private var cursorSavedAt: Duration?
    /// The generation of the record with which the stream was opened.
    private var generation: Int64 = 0
    /// The place in the stream, which distinguishes unreadable events.
    private var position = ""
    private var sincePurge = 0
    private var loginSeenAt: Duration?

    /// Results of earlier calls to the hub in this start.
    enum Beginning: Sendable, Equatable {
        case unknown
        case registered
        /// The hub was not available, which was reported; it may have asked for a pause.
        case away(retryAfter: Duration?)
    }

    init(
        _ beginning: Beginning,
        beside backend: BackendWork,
        logger: Logger,
        onListening: @escaping @Sendable () -> Void
    ) {
        self.backend = backend
        self.mustRegister = beginning != .registered
        self.isJustRegistered = beginning == .registered
        if case .away(let retryAfter) = beginning {
            _ = presence.failed()
            firstWait = retryAfter
        }
        self.logger = logger
        self.onListening = onListening
    }

    var registrar: Registrar { backend.registrar }
    var store: AgentStore { backend.store }
    var environment: AgentEnvironment { backend.environment }
    var flow: InboxFlow { backend.flow }

    /// Runs until the task is cancelled, or until an error that retrying does not clear.
    mutating func run() async throws(AgentError) -> SubscribeEnding {
        if let firstWait { await wait(retryAfter: firstWait) }
        while !Task.isCancelled {
            do throws(HubFailure) {
                if let ending = try await listenOnce() { return ending }
            } catch {
                try await recover(from: error)
            }
        }
        return .stopped
    }

    // MARK: One connection

    private enum StreamEnd {
        case ended(String)
        case replaced
        case revoked
        /// The choice on disk differs from the hub's.
        case choiceChanged
        /// The inbox has no room, or the disk had none until just now.
        case paused
    }

    private mutating func listenOnce() async throws(HubFailure) -> SubscribeEnding? {
        var record = try await registrar.storedRecord()
        // Messages to a former user must not arrive through this stream.
        if mustRegister || record.needsRegistration || registrar.mustLeave(record) {
            guard try await registrar.register() else { return .unsubscribed }
            isJustRegistered = true
            if unknownInRow > 0 { environment.reporter.notice("the hub had lost this installation; registered again") }
            mustRegister = false
            await registrar.warnOfRetired()
            record = try await registrar.storedRecord()
            // A change of the user deletes the installation for a moment, which is not reported.
            if wasRevoked, record.registeredUser == streamUser {
                environment.reporter.notice("the hub had revoked this installation; registered again")
            }
            wasRevoked = false
        }
        guard record.categories != nil else { return .unsubscribed }
        if flow.isFull {
            flow.caughtUp()
            await flow.waitForRoom()
            return nil
        }
        let isRegistered = isJustRegistered
        isJustRegistered = false
        let stream = try await open(record)
        streamUser = record.registeredUser
        generation = record.generation
        defer { stream.cancel() }
        renewal.streamOpened(isJustRegistered: isRegistered)
        flow.beginCatchingUp()
        unknownInRow = 0
        hasSaidClock = false
        if presence.opened() { sayBack() }
        onListening()
        backend.subscription.note(record)
        // The agent may have to register as its user, or to fetch texts of the last run.
        backend.wakeUp.signal()
        position = record.cursor ?? ""
        var hadEvents = false
        let end: StreamEnd
        do {
            end = try await read(stream, &hadEvents)
        } catch {
            throw .refused(error.asAgentError)
        }
        if let retry = stream.retry { backoff.base = retry }
        return await conclude(end, hadEvents: hadEvents)
    }

    private func open(_ record: AgentRecord) async throws(HubFailure) -> HubEventStream {
        if let cursor = record.cursor, !Cursor.isSendable(cursor) {
            throw .badCursor(AgentError(.badConfiguration, "the stored position cannot be sent to a hub"))
        }
        do {
            return try await registrar.client.events(
                installation: record.installation,
                channel: record.channel,
                after: record.cursor
            )
        } catch {
            throw HubFailure(error, withCursor: record.cursor != nil)
        }
    }

    private mutating func conclude(_ end: StreamEnd, hadEvents: Bool) async -> SubscribeEnding? {
        flow.caughtUp()
        if let unsavedCursor {
            // If this fails, the next stream only begins a little earlier.
            _ = try? await store.receive(
                [],
                cursor: unsavedCursor,
                of: generation,
                at: Timestamp(environment.now())
            )
        }
        unsavedCursor = nil
        switch end {
        case .replaced:
            environment.reporter.warning("another subscriber has taken over this installation's stream; stopping")
            return .replaced
        case .choiceChanged:
            mustRegister = true
        case .paused:
            break
        case .revoked:
            mustRegister = true
            wasRevoked = true
            await wait()
        case .ended(let reason):
            logger.debug("stream ended", metadata: ["stream.reason": "\(reason)"])
            if presence.ended(hadEvents: hadEvents) {
                environment.reporter.warning("the hub ends every stream as soon as it opens: \(reason); retrying")
            }
            await wait()
        }
        return nil
    }

    // MARK: Events

    private mutating func read(
        _ stream: HubEventStream,
        _ hadEvents: inout Bool
    ) async throws(DatabaseFileError) -> StreamEnd {
        while true {
            let event: ServerSentEvent
            do {
                guard let next = try await stream.next() else { return .ended("it was closed") }
                event = next
            } catch {
                return .ended("\(error)")
            }
            // A hub that revokes immediately each time does not count as available.
            if !hadEvents, event.event != StreamEventName.revoked {
                hadEvents = true
                backoff.reset()
                if presence.received() { sayBack() }
            }
            if let id = event.id { position = id }
            if let end = try await take(event, from: stream) { return end }
            renewal.saw(event)
            if try await !renewIfDue() { return .choiceChanged }
            try await lookAtLogin()
            if flow.isFull { return .paused }
        }
    }

    /// Registers again while the stream continues, if the hub may have an older choice than this agent.
    ///
    /// If the hub is busy, the attempt is repeated later. After any other failure, the next connection registers and
    /// reports the failure.
    ///
    /// - Returns: False if that must happen now.
    private mutating func renewIfDue() async throws(DatabaseFileError) -> Bool {
        guard renewal.isDue(at: environment.elapsed()) else { return true }
        do {
            guard try await registrar.register() else { return false }
            renewal.registered()
            backoff.reset()
        } catch {
            switch error {
            case .away(_, let retryAfter, _):
                let pause = backoff.next(retryAfter: retryAfter, random: environment.random())
                renewal.failed(tryAgainAt: environment.elapsed() + pause)
            case .clockDiffers, .notFound, .foreign, .badCursor, .refused, .cancelled:
                return false
            }
        }
        return true
    }

    /// Checks every ``cursorInterval`` whether another process has logged in or out and could not register.
    private mutating func lookAtLogin() async throws(DatabaseFileError) {
        let now = environment.elapsed()
        guard now - (loginSeenAt ?? now - Self.cursorInterval) >= Self.cursorInterval else { return }
        loginSeenAt = now
        if registrar.isUserDue(try await store.record()) { backend.wakeUp.signal() }
    }

    private mutating func take(
        _ event: ServerSentEvent,
        from stream: HubEventStream
    ) async throws(DatabaseFileError) -> StreamEnd? {
        guard let data = event.data else { return try await heartbeat(event) }
        switch event.event {
        case nil, "message": return try await receive(try await message(data), event.id, stream)
        case StreamEventName.gap: return try await receive(.gap(data, at: position), event.id, stream)
        case StreamEventName.replaced: return .replaced
        case StreamEventName.revoked: return .revoked
        default:
            logger.debug("unknown kind of event skipped", metadata: ["event.kind": "\(event.event ?? "")"])
            return try await heartbeat(event)
        }
    }

    private func message(_ data: String) async throws(DatabaseFileError) -> Arrival {
        let event: StreamEvent
        do {
            event = try StreamEvent(parsing: data)
        } catch {
            return .unreadable(data, position: position, reason: error.detail)
        }
        // Read the template each time: another process may change it while this one listens.
        return .message(event, rendered: try await store.record().template)
    }

    /// Stores an arrival and its position.
    ///
    /// A full disk closes the stream at once, and the hub keeps the rest.
    private mutating func receive(
        _ arrival: Arrival,
        _ id: String?,
        _ stream: HubEventStream
    ) async throws(DatabaseFileError) -> StreamEnd? {
        let cursor = id ?? unsavedCursor
        let (store, generation) = (self.store, self.generation)
        let now = Timestamp(environment.now())
        var end: StreamEnd?
        let taken: [Arrival]
        do {
            taken = try await store.receive([arrival], cursor: cursor, of: generation, at: now)
        } catch {
            guard error.isTemporary else { throw error }
            stream.cancel()
            backend.patience.blocked(error)
            do {
                taken = try await backend.patience.perform { () async throws(DatabaseFileError) in
                    try await store.receive([arrival], cursor: cursor, of: generation, at: now)
                }
            } catch {
                if error.isTemporary { return .ended("the agent was stopped while its disk was full") }
                throw error
            }
            end = .paused
        }
        unsavedCursor = nil
        if cursor != nil { cursorSavedAt = environment.elapsed() }
        for arrival in taken { announce(arrival) }
        if taken.contains(where: { $0.secureID != nil }) { backend.wakeUp.signal() }
        flow.arrived(taken.count { $0.isWork })
        await purgeIfDue(after: taken.count)
        return end
    }

    private mutating func purgeIfDue(after count: Int) async {
        sincePurge += count
        guard sincePurge >= store.bounds.purgeInterval else { return }
        sincePurge = 0
        // If this fails, the next purge deletes the rows.
        try? await store.purge()
    }

    private func announce(_ arrival: Arrival) {
        switch arrival.kind {
        case .message:
            logger.debug("message received", metadata: ["message.id": "\(arrival.id)"])
        case .gap:
            environment.reporter.warning("messages were missed: \(arrival.content.message)")
        case .unreadable:
            environment.reporter.warning("an event from the hub was stored unhandled: \(arrival.failure ?? "")")
        }
    }

    /// Moves the cursor, on disk every ``cursorInterval``, and checks whether another process has changed the choice
    /// and could not register it, or has unsubscribed and subscribed again.
    private mutating func heartbeat(_ event: ServerSentEvent) async throws(DatabaseFileError) -> StreamEnd? {
        guard let id = event.id else { return nil }
        if event.data == nil { flow.caughtUp() }
        unsavedCursor = id
        let now = environment.elapsed()
        guard now - (cursorSavedAt ?? now - Self.cursorInterval) >= Self.cursorInterval else { return nil }
        cursorSavedAt = now
        do {
            try await store.receive([], cursor: id, of: generation, at: Timestamp(environment.now()))
            unsavedCursor = nil
        } catch {
            guard error.isTemporary else { throw error }
            // No event is lost: the next heartbeat tries again.
        }
        let record = try await store.record()
        let isOther = record.categories == nil || record.generation != generation
        return isOther || record.needsRegistration ? .choiceChanged : nil
    }
}
